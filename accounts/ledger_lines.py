"""The ledger as people read it: one line a day and key, and one for each entry of another kind.

Reads the rows of days (accounts.ledger_days); the few entries that are behind their mark are summed
when the page is made.
"""

from __future__ import annotations

import heapq
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date
from itertools import islice

from django.db.models import Q

from accounts.day_sums import USAGE_COLUMNS, DaySum, sum_by_day
from accounts.ledger_selectors import ENTRIES_PER_PAGE
from accounts.models import LedgerDay, LedgerEntry, LedgerMark, Wallet

# A minute's entries; more of them are behind the mark only while it catches up.
MAX_UNSUMMED = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerLine:
    """What one key used on one day, or one entry of another kind. Amounts are signed."""

    day: date
    # Of the last entry.
    sequence: int
    amount_nusd: int
    # After the last entry.
    balance_nusd: int
    entries: int = 1
    calls: int = 0
    key_id: uuid.UUID | None = None
    # None for usage.
    entry: LedgerEntry | None = None


@dataclass(frozen=True, slots=True)
class LinePage:
    """Some lines, newest first. newer, older: as in LedgerPage. unsummed: how many entries older
    than the first lines are not added up yet, and so are missing."""

    lines: list[LedgerLine]
    newer: int | None
    older: int | None
    unsummed: int = 0


def ledger_lines(
    workspace_id: uuid.UUID,
    *,
    before: int | None = None,
    after: int | None = None,
    size: int = ENTRIES_PER_PAGE,
) -> LinePage:
    """Return up to `size` lines whose last entry is older than `before` or newer than `after`.

    Reads the rows of days, and sums the few entries that are behind their mark.
    """
    recent, unsummed = _recent_days(workspace_id)
    is_newer = before is None and after is not None
    order = "" if is_newer else "-"
    place = {"gt": after} if is_newer else {} if before is None else {"lt": before}
    days = LedgerDay.objects.filter(wallet_id=workspace_id, **_at("last_sequence", place))
    others = LedgerEntry.objects.filter(
        ~Q(kind="usage"), wallet_id=workspace_id, **_at("sequence", place)
    )
    streams: list[Iterator[LedgerLine]] = [
        (
            _line_of_day(row)
            for row in days.order_by(f"{order}last_sequence")[: size + 1 + len(recent)]
            if (row.day, row.key_id) not in recent
        ),
        map(_line_of_entry, others.order_by(f"{order}sequence")[: size + 1]),
        iter(sorted(_lines_between(recent, place), key=_sequence, reverse=not is_newer)),
    ]
    merged = heapq.merge(*streams, key=_sequence, reverse=not is_newer)
    found = list(islice(merged, size + 1))
    lines = found[:size]
    more = lines[-1].sequence if len(found) > size else None
    if is_newer:
        lines.reverse()
        return LinePage(lines, more, lines[-1].sequence if lines else None, unsummed)
    newer = lines[0].sequence if before is not None and lines else None
    return LinePage(lines, newer, more, unsummed)


def _recent_days(
    workspace_id: uuid.UUID,
) -> tuple[dict[tuple[date, uuid.UUID], LedgerLine], int]:
    """Return the lines of days and keys that have entries behind the mark, whole, and how many
    entries are too many to be summed now."""
    mark = LedgerMark.objects.filter(pk=workspace_id).values_list("sequence", flat=True).first()
    newest = Wallet.objects.filter(pk=workspace_id).values_list("sequence", flat=True).first()
    start = max(mark or 0, (newest or 0) - MAX_UNSUMMED)
    usage = LedgerEntry.objects.filter(
        wallet_id=workspace_id, sequence__gt=start, kind=LedgerEntry.Kind.USAGE
    ).exclude(key_id=None)
    sums = sum_by_day(usage.order_by("sequence").values_list(*USAGE_COLUMNS))
    known = LedgerDay.objects.filter(
        wallet_id=workspace_id, day__in={day for day, _ in sums}
    ).iterator()
    stored = {(row.day, row.key_id): row for row in known}
    lines = {place: _line_of_sum(each, stored.get(place)) for place, each in sums.items()}
    return lines, start - (mark or 0)


def _line_of_sum(each: DaySum, stored: LedgerDay | None) -> LedgerLine:
    return LedgerLine(
        day=each.day,
        sequence=each.last_sequence,
        amount_nusd=each.amount_nusd + (stored.amount_nusd if stored else 0),
        balance_nusd=each.balance_nusd,
        entries=each.entries + (stored.entries if stored else 0),
        calls=each.calls + (stored.calls if stored else 0),
        key_id=each.key_id,
    )


def _line_of_day(row: LedgerDay) -> LedgerLine:
    return LedgerLine(
        day=row.day,
        sequence=row.last_sequence,
        amount_nusd=row.amount_nusd,
        balance_nusd=row.balance_nusd,
        entries=row.entries,
        calls=row.calls,
        key_id=row.key_id,
    )


def _line_of_entry(entry: LedgerEntry) -> LedgerLine:
    return LedgerLine(
        day=entry.created_at.astimezone(UTC).date(),
        sequence=entry.sequence,
        amount_nusd=entry.amount_nusd,
        balance_nusd=entry.balance_nusd,
        entry=entry,
    )


def _lines_between(
    lines: Mapping[tuple[date, uuid.UUID], LedgerLine], place: Mapping[str, int | None]
) -> Iterator[LedgerLine]:
    after, before = place.get("gt"), place.get("lt")
    for line in lines.values():
        is_after = after is None or line.sequence > after
        if is_after and (before is None or line.sequence < before):
            yield line


def _at(column: str, place: Mapping[str, int | None]) -> dict[str, int | None]:
    return {f"{column}__{lookup}": value for lookup, value in place.items()}


def _sequence(line: LedgerLine) -> int:
    return line.sequence
