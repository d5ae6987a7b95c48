"""Usage in the ledger by day and key: added up in the background, right at any moment."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts import ledger, ledger_days, ledger_lines
from accounts.ledger_days import add_up_entries, add_up_ledger
from accounts.ledger_lines import LedgerLine
from accounts.ledger_selectors import ledger_page
from accounts.models import LedgerDay, LedgerEntry, LedgerMark, Workspace
from tests.factories import make_workspace

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
KEYS = [uuid.UUID(int=number) for number in range(1, 4)]


@pytest.fixture
def workspace() -> Workspace:
    """Three days, on each of which three keys spend five times; a grant begins each day."""
    workspace = make_workspace(credit_nusd=0)
    ledger.open_wallet(workspace)
    for day in range(3):
        at = NOON + timedelta(days=day)
        enter(workspace, "grant", 1_000_000, at, key_id=None)
        for turn in range(5):
            for key_id in KEYS:
                enter(workspace, "usage", -(day + 1), at + timedelta(minutes=turn), key_id=key_id)
    return workspace


def enter(
    workspace: Workspace, kind: str, amount_nusd: int, at: datetime, *, key_id: uuid.UUID | None
) -> None:
    ledger.post(
        workspace.pk,
        kind=LedgerEntry.Kind(kind),
        amount_nusd=amount_nusd,
        source=f"test:{uuid.uuid4()}",
        key_id=key_id,
        calls=2 if key_id else 0,
        at=at,
    )


def all_lines(workspace: Workspace, size: int = 4) -> list[LedgerLine]:
    """Return all lines, page by page."""
    lines: list[LedgerLine] = []
    before = None
    while True:
        page = ledger_lines.ledger_lines(workspace.pk, before=before, size=size)
        lines += page.lines
        if page.older is None:
            return lines
        before = page.older


def expected(workspace: Workspace) -> list[tuple[Any, ...]]:
    """Return what the lines must say, from the entries themselves."""
    found: dict[Any, list[LedgerEntry]] = {}
    for entry in LedgerEntry.objects.filter(wallet_id=workspace.pk).order_by("sequence"):
        place = entry.sequence if entry.key_id is None else (entry.created_at.date(), entry.key_id)
        found.setdefault(place, []).append(entry)
    lines = [
        (
            entries[-1].created_at.date(),
            entries[0].key_id,
            sum(entry.amount_nusd for entry in entries),
            sum(entry.calls for entry in entries),
            len(entries),
            entries[-1].balance_nusd,
            entries[-1].sequence,
        )
        for entries in found.values()
    ]
    return sorted(lines, key=lambda line: -line[-1])


def said(lines: list[LedgerLine]) -> list[tuple[Any, ...]]:
    return [
        (e.day, e.key_id, e.amount_nusd, e.calls, e.entries, e.balance_nusd, e.sequence)
        for e in lines
    ]


@pytest.mark.parametrize("added", [0, 1, 7, 20, 37, 48])
def test_lines_are_right_however_much_has_been_added_up(workspace: Workspace, added: int) -> None:
    if added:
        assert add_up_entries(workspace.pk, 0, added)

    lines = all_lines(workspace)

    assert said(lines) == expected(workspace)
    assert len(lines) == 3 * (3 + 1)


def test_newer_pages_lead_back(workspace: Workspace) -> None:
    add_up_entries(workspace.pk, 0, 40)
    lines = all_lines(workspace)

    page = ledger_lines.ledger_lines(workspace.pk, after=lines[8].sequence, size=4)

    assert page.lines == lines[4:8]
    assert (page.newer, page.older) == (lines[4].sequence, lines[7].sequence)


def test_steps_of_any_size_come_to_the_same(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_days, "STEP", 5)

    added = add_up_ledger()
    enter(workspace, "usage", -9, NOON + timedelta(days=2, hours=1), key_id=KEYS[0])
    later = add_up_ledger()

    assert (added, later, add_up_ledger()) == (48, 1, 0)
    assert LedgerDay.objects.count() == 9
    assert LedgerMark.objects.get().sequence == 49
    assert said(all_lines(workspace)) == expected(workspace)


def test_a_step_that_another_has_made_adds_nothing(workspace: Workspace) -> None:
    assert add_up_entries(workspace.pk, 0, 20)

    assert not add_up_entries(workspace.pk, 0, 20)
    assert not add_up_entries(workspace.pk, 10, 30)
    assert said(all_lines(workspace)) == expected(workspace)


@pytest.mark.parametrize("added", [0, 20, 48])
def test_the_entries_behind_a_line_are_found(workspace: Workspace, added: int) -> None:
    if added:
        add_up_entries(workspace.pk, 0, added)

    for line in all_lines(workspace):
        if line.key_id is None:
            continue
        page = ledger_page(workspace.pk, usage_of=(line.day, line.key_id), size=2)
        rest = ledger_page(workspace.pk, usage_of=(line.day, line.key_id), before=page.older)
        entries = [*page.entries, *rest.entries]
        assert sum(entry.amount_nusd for entry in entries) == line.amount_nusd
        assert len(entries) == line.entries


def test_what_is_behind_by_too_much_is_said_to_be_missing(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_lines, "MAX_UNSUMMED", 10)

    page = ledger_lines.ledger_lines(workspace.pk)
    add_up_ledger()

    assert page.unsummed == 38
    assert ledger_lines.ledger_lines(workspace.pk).unsummed == 0


def test_a_page_reads_rows_of_days_and_not_the_entries(workspace: Workspace) -> None:
    add_up_ledger()

    with CaptureQueriesContext(connection) as queries:
        ledger_lines.ledger_lines(workspace.pk)

    plans = []
    for query in queries:
        if query["sql"].startswith("SELECT"):
            with connection.cursor() as cursor:
                cursor.execute(f"EXPLAIN QUERY PLAN {query['sql']}")
                plans += [row[-1] for row in cursor.fetchall()]
    assert not [plan for plan in plans if plan.startswith("SCAN") or "B-TREE" in plan]
