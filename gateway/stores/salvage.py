"""When a batch does not post whole: post what can be posted, in the caller's favour.

A record that the database refuses must not keep the records behind it from their place in the
book. It is posted without its charge, and left out if that does not help either; both are logged.
"""

from __future__ import annotations

import logging
import uuid
from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec
from django.db import InterfaceError, OperationalError, transaction

from gateway.journal.record import Record, Settled
from gateway.stores.drain import apply

log = logging.getLogger(__name__)

MAX_INTEGER = 2**63 - 1


def apply_one_by_one(
    process_id: uuid.UUID, records: Sequence[Record], *, source: str
) -> dict[str, int]:
    """Do what gateway.stores.drain.apply does, each record in a savepoint of its own.

    Raises OperationalError or InterfaceError when the database is away, and nothing else.
    """
    charges: Counter[str] = Counter()
    for number, record in enumerate(records):
        for attempt in (record, uncharged(record)):
            try:
                with transaction.atomic():
                    charges.update(apply(process_id, [attempt], source=f"{source}:{number}"))
                break
            except (OperationalError, InterfaceError):
                raise
            except Exception:
                log.critical("call %s does not post: %r", record.call_id, attempt, exc_info=True)
    return dict(charges)


def cleaned(record: Record) -> Record:
    """Return the record with only such text and numbers as any database takes."""
    fields = msgspec.structs.asdict(record)
    return type(record)(**{name: _clean(value) for name, value in fields.items()})


def uncharged(record: Record) -> Record:
    """Return the record, cleaned, as one that costs the caller nothing."""
    plain = cleaned(record)
    if not isinstance(plain, Settled):
        return plain
    return msgspec.structs.replace(
        plain,
        charge_nusd=0,
        owed_nusd=0,
        absorbed_nusd=min(plain.absorbed_nusd + plain.charge_nusd + plain.owed_nusd, MAX_INTEGER),
        charge_basis="zero_platform",
    )


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode().replace("\x00", "")
    if isinstance(value, int) and not isinstance(value, bool):
        return max(0, min(value, MAX_INTEGER))
    return value
