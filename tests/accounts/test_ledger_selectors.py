"""The ledger, page by page."""

from __future__ import annotations

import uuid

import pytest
from django.db import connection
from django.utils import timezone

from accounts import ledger
from accounts.ledger_selectors import Balance, find_balance, ledger_page
from accounts.models import LedgerEntry, Workspace
from tests.factories import make_workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspace() -> Workspace:
    """A workspace with entries 1 to 9; every third is a grant, the rest usage."""
    workspace = make_workspace(credit_nusd=0)
    ledger.open_wallet(workspace)
    for number in range(1, 10):
        usage = number % 3 != 0
        ledger.post(
            workspace.id,
            kind=LedgerEntry.Kind.USAGE if usage else LedgerEntry.Kind.GRANT,
            amount_nusd=number,
            source=f"test:{number}",
            at=timezone.now(),
        )
    return workspace


def sequences(workspace: Workspace, **how: object) -> tuple[list[int], int | None, int | None]:
    page = ledger_page(workspace.id, size=4, **how)  # type: ignore[arg-type]
    return [entry.sequence for entry in page.entries], page.newer, page.older


def test_the_first_page_is_the_newest_entries(workspace: Workspace) -> None:
    assert sequences(workspace) == ([9, 8, 7, 6], None, 6)


def test_older_pages_go_on_where_the_last_one_ended(workspace: Workspace) -> None:
    assert sequences(workspace, before=6) == ([5, 4, 3, 2], 5, 2)
    assert sequences(workspace, before=2) == ([1], 1, None)


def test_newer_pages_lead_back(workspace: Workspace) -> None:
    assert sequences(workspace, after=1) == ([5, 4, 3, 2], 5, 2)
    assert sequences(workspace, after=5) == ([9, 8, 7, 6], None, 6)


def test_usage_can_be_left_out(workspace: Workspace) -> None:
    assert sequences(workspace, without_usage=True) == ([9, 6, 3], None, None)


def test_the_balance_is_what_the_entries_add_up_to(workspace: Workspace) -> None:
    assert find_balance(workspace.id) == Balance(posted_nusd=45, drawn_nusd=0, entries=9)
    assert find_balance(uuid.uuid4()) == Balance(0, 0, 0)


@pytest.mark.parametrize("without_usage", [False, True])
def test_a_page_is_read_from_an_index_in_its_order(
    workspace: Workspace, without_usage: bool
) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("Reads the plans of SQLite.")
    plans: list[str] = []

    def explain(execute, sql, params, many, context):  # type: ignore[no-untyped-def]
        execute(f"EXPLAIN QUERY PLAN {sql}", params, many, context)
        plans.append("; ".join(row[3] for row in context["cursor"].fetchall()))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(explain):
        ledger_page(workspace.id, before=7, without_usage=without_usage)

    index = "accounts_ledger_not_usage" if without_usage else "INDEX"
    assert len(plans) == 1
    assert index in plans[0]
    assert "TEMP B-TREE" not in plans[0]
