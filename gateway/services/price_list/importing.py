"""Imports the price list: first what would change, then, once confirmed, the rows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import date

import msgspec
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from accounts.changes import record_audit
from gateway.models import ListPrice
from gateway.services.price_list.package import SOURCE, Listed, read_package

# A model of a kind of provider, and the first day of one of its prices.
Key = tuple[str, str, date | None]
BATCH = 500


@dataclass(frozen=True)
class PriceChange:
    """A price that the list has otherwise than the newest import. before: None for a new one."""

    before: ListPrice | None
    after: Listed


@dataclass(frozen=True)
class ImportPlan:
    """What an import would add. token: names exactly this, and confirms it."""

    source: str
    changes: list[PriceChange]
    # Rows of models that the list has no more. They stay as they are.
    gone: list[ListPrice]
    token: str

    @property
    def new(self) -> int:
        return sum(change.before is None for change in self.changes)

    @property
    def changed(self) -> int:
        return len(self.changes) - self.new


def plan_import() -> ImportPlan:
    """Compare the price list with the newest rows. Writes nothing."""
    listed = read_package()
    known = newest_rows()
    changes = [
        PriceChange(before, price)
        for price in listed
        if (before := known.get(_key(price))) is None or _differs(before, price)
    ]
    keys = {_key(price) for price in listed}
    gone = [row for key, row in known.items() if key not in keys]
    return ImportPlan(SOURCE, changes, gone, _token_of(changes))


@transaction.atomic
def import_price_list(*, token: str, actor: str) -> ImportPlan:
    """Add the rows of a plan. Prices of models stay as they are: see
    gateway.services.price_list.applying.

    token: of the plan that was looked at. Raises ValidationError when it would be another now.
    """
    plan = plan_import()
    if plan.token != token:
        raise ValidationError(
            "The price list or its import has changed. Look at the changes again."
        )
    now = timezone.now()
    ListPrice.objects.bulk_create(
        [
            ListPrice(**asdict(change.after), source=plan.source, imported_at=now)
            for change in plan.changes
        ],
        batch_size=BATCH,
    )
    if plan.changes:
        counts = {"source": plan.source, "new": plan.new, "changed": plan.changed}
        record_audit(actor=actor, action="price_list.import", target=plan.source, details=counts)
    return plan


def newest_rows() -> dict[Key, ListPrice]:
    """Return the row of the newest import for each price."""
    rows: Iterable[ListPrice] = ListPrice.objects.order_by("id").iterator()
    return {(row.kind, row.model_id, row.effective_from): row for row in rows}


def _key(price: Listed) -> Key:
    return price.kind, price.model_id, price.effective_from


def _differs(row: ListPrice, price: Listed) -> bool:
    old: Mapping[str, object] = row.prices
    return old != price.prices or row.context_tokens != price.context_tokens


def _token_of(changes: Iterable[PriceChange]) -> str:
    lines = [(change.before.pk if change.before else 0, change.after) for change in changes]
    return hashlib.sha256(msgspec.json.encode(lines)).hexdigest()[:32]
