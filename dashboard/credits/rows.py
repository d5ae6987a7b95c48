"""Rows of the ledger: by day, a line for each key and movement; or entry by entry."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import groupby
from operator import attrgetter
from urllib.parse import urlencode

from accounts.ledger_lines import LedgerLine, LinePage
from accounts.ledger_selectors import LedgerPage
from accounts.models import LedgerEntry, Workspace
from dashboard.http.page_urls import page_address
from dashboard.keys.labels import key_labels
from dashboard.ui.tables import Group

# What the page shows of the ledger: a line a day and key, or entries.
BY_DAY, WITHOUT_USAGE, ENTRIES = "", "movements", "entries"
Kind = LedgerEntry.Kind


@dataclass(frozen=True)
class LedgerRow:
    """An entry, and in words what caused it."""

    entry: LedgerEntry
    cause: str
    by: str


@dataclass(frozen=True, kw_only=True)
class DayRow:
    """A line of a day. entries_url: where the entries behind it are, "" where it is one itself.
    calls_url: where its calls are, "" where it has none that can be listed."""

    line: LedgerLine
    kind: str
    cause: str
    by: str
    entries_url: str
    calls_url: str


@dataclass(frozen=True)
class DayHeading:
    """A day. balance_nusd: at its end; None where the page does not begin with it."""

    day: date
    balance_nusd: int | None


def day_groups(workspace: Workspace, page: LinePage, *, sees_calls: bool) -> list[Group[DayRow]]:
    """Return the lines of the page, a group for each day."""
    labels = key_labels(workspace.id, (line.key_id for line in page.lines if line.key_id))
    groups: list[Group[DayRow]] = []
    for day, lines in groupby(page.lines, key=attrgetter("day")):
        rows = [_day_row(workspace, line, labels, sees_calls=sees_calls) for line in lines]
        is_whole = bool(groups) or page.newer is None
        heading = DayHeading(day, rows[0].line.balance_nusd if is_whole else None)
        groups.append(Group(heading, rows))
    return groups


def _day_row(
    workspace: Workspace,
    line: LedgerLine,
    labels: Mapping[uuid.UUID, str],
    *,
    sees_calls: bool,
) -> DayRow:
    if line.entry is not None:
        entry = line.entry
        return DayRow(
            line=line,
            kind=entry.get_kind_display(),
            cause=entry.reason,
            by=entry.actor,
            entries_url="",
            calls_url="",
        )
    asked = urlencode({"show": ENTRIES, "day": line.day.isoformat(), "key": str(line.key_id)})
    calls_url = ""
    if sees_calls:
        starts, ends = line.day, line.day + timedelta(days=1)
        period = {"from": f"{starts}T00:00", "to": f"{ends}T00:00", "key": str(line.key_id)}
        calls_url = f"{page_address(workspace, 'call-list')}?{urlencode(period)}"
    return DayRow(
        line=line,
        kind=Kind.USAGE.label,
        cause=_calls(line.calls),
        by="" if line.key_id is None else label_of(line.key_id, labels),
        entries_url=f"{page_address(workspace, 'credits')}?{asked}",
        calls_url=calls_url,
    )


def entry_rows(workspace: Workspace, page: LedgerPage) -> list[LedgerRow]:
    labels = key_labels(workspace.id, (entry.key_id for entry in page.entries if entry.key_id))
    return [_row(entry, labels) for entry in page.entries]


def _row(entry: LedgerEntry, labels: Mapping[uuid.UUID, str]) -> LedgerRow:
    if entry.kind != Kind.USAGE or entry.key_id is None:
        return LedgerRow(entry, entry.reason, entry.actor)
    return LedgerRow(entry, _calls(entry.calls), label_of(entry.key_id, labels))


def _calls(calls: int) -> str:
    return f"{calls:,} {'call' if calls == 1 else 'calls'}"


def label_of(key_id: uuid.UUID, labels: Mapping[uuid.UUID, str]) -> str:
    return labels.get(key_id, f"key {str(key_id)[:8]}")
