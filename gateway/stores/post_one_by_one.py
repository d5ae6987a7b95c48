"""Post the records of a batch one by one when the database refuses the batch.

A record that the database refuses must not keep the records behind it out of the ledger.
It is posted without its charge, and left out if that does not help either; both are noted
as faults of the journal, with the record as it was.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Sequence
from typing import cast

import msgspec
from django.db import InterfaceError, OperationalError, transaction
from msgspec.structs import replace

from gateway.journal.record import Damage, Entry, Record, Settled
from gateway.models import JournalFault
from gateway.stores.drain import apply
from gateway.stores.journal_faults import keep_record

MAX_INTEGER = 2**63 - 1


def post_one_by_one(
    process_id: uuid.UUID, records: Sequence[Entry], /, *, source: str
) -> dict[str, int]:
    """Do what gateway.stores.drain.apply does, each record in a savepoint of its own.

    Raises OperationalError or InterfaceError when the database is away, and nothing else but what
    keeps it from noting a fault.
    """
    charges: Counter[str] = Counter()
    for number, record in enumerate(records):
        one_source = f"{source}:{number}"
        try:
            charges.update(_apply_one(process_id, record, one_source))
        except (OperationalError, InterfaceError):
            raise
        except Exception as error:
            if isinstance(record, Damage):
                raise
            charges.update(_apply_uncharged(process_id, record, one_source, error))
    return dict(charges)


def _apply_uncharged(
    process_id: uuid.UUID, record: Record, source: str, error: Exception
) -> dict[str, int]:
    """Post a record that was refused without its charge; leave it out when that is refused too."""
    charges: dict[str, int] = {}
    kind = JournalFault.Kind.UNCHARGED
    try:
        charges = _apply_one(process_id, uncharged(record), source)
    except (OperationalError, InterfaceError):
        raise
    except Exception as second:
        kind, error = JournalFault.Kind.UNPOSTED, second
    keep_record(process_id, record, kind, error)
    return charges


def _apply_one(process_id: uuid.UUID, record: Entry, source: str) -> dict[str, int]:
    with transaction.atomic():
        return apply(process_id, [record], source=source)


def cleaned(record: Record) -> Record:
    """Return the record with only such text and numbers as any database takes."""
    return cast(Record, _clean(record))


def uncharged(record: Record) -> Record:
    """Return the record, cleaned, as one that costs the caller nothing."""
    plain = cleaned(record)
    if not isinstance(plain, Settled):
        return plain
    receipt = plain.receipt
    free = replace(
        receipt,
        charge_nusd=0,
        absorbed_nusd=min(receipt.absorbed_nusd + receipt.charge_nusd, MAX_INTEGER),
        charge_basis="zero_platform",
    )
    return replace(plain, receipt=free, owed_nusd=0)


def _clean(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode().replace("\x00", "")
    if isinstance(value, int) and not isinstance(value, bool):
        return max(0, min(value, MAX_INTEGER))
    if isinstance(value, msgspec.Struct):
        fields = {name: _clean(getattr(value, name)) for name in value.__struct_fields__}
        return type(value)(**fields)
    if isinstance(value, tuple):
        return tuple(map(_clean, value))
    if isinstance(value, dict):
        return {_clean(name): _clean(one) for name, one in value.items()}
    return value
