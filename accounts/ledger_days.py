"""Adds usage in the ledger up to one row a day and key, in the background, for people to read.

Entries of a wallet are numbered without gaps, in the order in which they are committed, and never
change: so what is behind the mark is complete. Each step is one short transaction that moves the
mark, on the condition that it still is where the step began.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator

from django.db import transaction
from django.db.models import F, Value
from django.db.models.functions import Coalesce

from accounts.day_sums import USAGE_COLUMNS, DaySum, sum_by_day
from accounts.models import LedgerDay, LedgerEntry, LedgerMark, Wallet
from accounts.pacing import paced_steps

STEP = 2_000
WORK_S = 15.0  # of each minute, pauses included


def add_up_ledger(*, work_s: float = WORK_S) -> int:
    """Add up what is new, for so long at the most; return how many entries that were."""
    added = 0
    steps = _add_up_some()
    for _ in paced_steps(work_s):
        entries = next(steps, 0)
        if not entries:
            break
        added += entries
    return added


def _add_up_some() -> Iterator[int]:
    """Add up a step each time that the next is asked for; yield how many entries it had."""
    for wallet_id, mark, newest in _behind():
        for place in range(mark, newest, STEP):
            end = min(place + STEP, newest)
            if not add_up_entries(wallet_id, place, end):
                break  # another has
            yield end - place


@transaction.atomic
def add_up_entries(wallet_id: uuid.UUID, after: int, end: int) -> bool:
    """Add the entries behind `after` up to `end` to their days. False: the mark is elsewhere."""
    if after == 0:
        LedgerMark.objects.get_or_create(wallet_id=wallet_id)
    moved = LedgerMark.objects.filter(wallet_id=wallet_id, sequence=after).update(sequence=end)
    if not moved:
        return False
    entries = LedgerEntry.objects.filter(
        wallet_id=wallet_id, sequence__gt=after, sequence__lte=end, kind=LedgerEntry.Kind.USAGE
    ).exclude(key_id=None)
    sums = sum_by_day(entries.order_by("sequence").values_list(*USAGE_COLUMNS))
    days = LedgerDay.objects.filter(wallet_id=wallet_id, day__in={day for day, _ in sums})
    known = {(row.day, row.key_id) for row in days.only("day", "key_id").iterator()}
    LedgerDay.objects.bulk_create(
        LedgerDay(wallet_id=wallet_id, **_columns(each))
        for place, each in sums.items()
        if place not in known
    )
    for place, each in sums.items():
        if place in known:
            LedgerDay.objects.filter(wallet_id=wallet_id, day=each.day, key_id=each.key_id).update(
                entries=F("entries") + each.entries,
                calls=F("calls") + each.calls,
                amount_nusd=F("amount_nusd") + each.amount_nusd,
                last_sequence=each.last_sequence,
                balance_nusd=each.balance_nusd,
            )
    return True


def _behind() -> list[tuple[uuid.UUID, int, int]]:
    """Return the wallets with entries behind their mark: id, mark, newest entry."""
    wallets = Wallet.objects.annotate(place=Coalesce("mark__sequence", Value(0)))
    found = wallets.filter(sequence__gt=F("place")).order_by("pk")
    return list(found.values_list("pk", "place", "sequence"))


def _columns(each: DaySum) -> dict[str, object]:
    return {name: getattr(each, name) for name in DaySum.__slots__}
