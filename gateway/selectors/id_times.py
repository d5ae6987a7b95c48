"""Call ids are UUIDv7: their first 48 bits are milliseconds, so a time range is an id range."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_RANDOM_BITS = 80
_MILLISECOND = timedelta(milliseconds=1)


def first_id_at(moment: datetime) -> uuid.UUID:
    """Return a bound that no call id from before this moment reaches (to the millisecond)."""
    return uuid.UUID(int=((moment - _EPOCH) // _MILLISECOND) << _RANDOM_BITS)


def moment_of(call_id: uuid.UUID) -> datetime:
    """Return when an id was minted. Ids that are not version 7 give a meaningless moment."""
    return _EPOCH + (call_id.int >> _RANDOM_BITS) * _MILLISECOND
