"""What calls have cost beyond the balances of their workspaces: losses of ours.

They are rare, and have an index of their own. A call whose price was charged but for a part is
one; what was absorbed because we or the provider failed is none.
"""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db.models import Count, QuerySet, Sum
from django.utils import timezone

from gateway.core.calendar import UTC_NAME, calendar_at
from gateway.models import CallRecord
from gateway.models.call import IS_LOSS


class Losses(NamedTuple):
    """lost_nusd on so many calls, of so many keys."""

    lost_nusd: int
    calls: int
    keys: int


def lost_today(key_id: uuid.UUID, at: float) -> int:
    """Return the nano-USD lost on calls of a key that began on the day (UTC) of a moment."""
    of_key = _losses_since(calendar_at(UTC_NAME, at).day.starts_at).filter(key_id=key_id)
    return of_key.aggregate(lost=Sum("absorbed_nusd"))["lost"] or 0


def find_losses() -> Losses | None:
    """Return what was lost in the last 24 hours, None where that is nothing."""
    sums = _losses_since(timezone.now() - timedelta(hours=24)).aggregate(
        lost=Sum("absorbed_nusd"), calls=Count("id"), keys=Count("key_id", distinct=True)
    )
    return Losses(sums["lost"], sums["calls"], sums["keys"]) if sums["calls"] else None


def _losses_since(moment: datetime) -> QuerySet[CallRecord]:
    return CallRecord.objects.filter(IS_LOSS, created_at__gte=moment)
