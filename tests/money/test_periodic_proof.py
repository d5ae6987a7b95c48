"""The proof of each minute looks at recent rows alone, as strictly as the full one at all."""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connection
from django.utils import timezone

from accounts import ledger as money
from accounts.models import Workspace
from gateway.models import CallRecord, LedgerCheck, ProofMark
from gateway.services import proving
from gateway.services.periodic_proof import FULL_EVERY, prove_what_is_due
from gateway.services.proof_marks import find_mark, plan_mark
from gateway.services.proving import Proof, prove, record_proof
from gateway.stores.process_stores import ProcessStores
from tests.money.office import admitted, end, hold, make_rich, run_with_stores
from tests.support.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)

LONG_AGO_S = 3 * 3600


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Two calls of 900 and 800 nUSD three hours ago, and a mark set after them."""
    workspace = make_rich(100_000)

    async def work(stores: ProcessStores) -> None:
        for charge in (900, 800):
            held = await hold(stores, str(workspace.pk), 1_000)
            record = admitted(str(workspace.pk), held, at=time.time() - LONG_AGO_S)
            stores.records.admitted(record)
            end(stores, record, charge)

    run_with_stores(tmp_path, work)
    record_proof(prove())
    return workspace


@pytest.fixture
def recent(tmp_path: Path, workspace: Workspace) -> None:
    """After the mark: calls of 300 and 200 nUSD, an aborted one, a grant, another workspace."""

    async def work(stores: ProcessStores) -> None:
        for charge in (300, 200, None):
            record = admitted(str(workspace.pk), await hold(stores, str(workspace.pk), 700))
            stores.records.admitted(record)
            if charge is not None:
                end(stores, record, charge, streamed=charge == 300)

    run_with_stores(tmp_path, work)
    money.grant(workspace, amount_nusd=50, actor="tests", reason="more")
    make_rich(7)


@pytest.mark.usefixtures("recent")
def test_recent_rows_are_proved_on_top_of_the_mark() -> None:
    proof = due()

    assert proof.since is not None
    assert proof.holds
    assert proof.calls == 3
    assert 3 <= proof.entries <= 4  # one batch or two


@pytest.mark.usefixtures("workspace")
def test_a_mark_within_a_quarter_of_an_hour_counts_its_calls_once(tmp_path: Path) -> None:
    workspace = make_rich(10_000)

    async def work(stores: ProcessStores) -> None:
        for charge in (60, 50):
            record = admitted(str(workspace.pk), await hold(stores, str(workspace.pk), 700))
            stores.records.admitted(record)
            end(stores, record, charge)

    for _ in range(3):
        run_with_stores(tmp_path, work)
        proof = due()
        assert proof.since is not None
        assert proof.holds
        record_proof(prove())


def test_a_call_that_runs_at_the_mark_is_counted_when_it_ends(
    tmp_path: Path, workspace: Workspace
) -> None:
    began_s = time.time() - LONG_AGO_S

    async def work(stores: ProcessStores) -> None:
        held = await hold(stores, str(workspace.pk), 700)
        record = admitted(str(workspace.pk), held, at=began_s)
        stores.records.admitted(record)
        await sync_to_async(prove_while_it_runs)()
        end(stores, record, 400)

    run_with_stores(tmp_path, work)

    mark = find_mark()
    assert mark is not None
    assert mark.since.timestamp() <= began_s
    assert due().since is not None


@pytest.mark.usefixtures("recent")
def test_the_mark_moves_when_a_proof_of_many_recent_rows_takes_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = find_mark()
    assert before is not None

    monkeypatch.setattr(proving, "LONG_MS", -1)
    record_proof(due())
    of_few = find_mark()
    monkeypatch.setattr(proving, "MANY_ROWS", 1)
    record_proof(due())
    of_many = find_mark()

    assert of_few is not None
    assert of_many is not None
    assert of_few.marked_at == before.marked_at
    assert of_many.marked_at > before.marked_at
    assert due().entries == 0
    assert due().holds


OF_300 = "WHERE charge_nusd = 300"
LAST = "WHERE id = (SELECT MAX(id) FROM accounts_ledgerentry WHERE kind = 'usage')"
RECENT_TAMPERINGS = [
    ("I1", "UPDATE accounts_wallet SET posted_nusd = posted_nusd + 1"),
    ("I1b", f"UPDATE accounts_ledgerentry SET balance_nusd = balance_nusd + 1 {LAST}"),
    ("I1", f"UPDATE accounts_ledgerentry SET amount_nusd = amount_nusd - 1 {LAST}"),
    ("I2", "UPDATE accounts_wallet SET drawn_nusd = 1"),
    ("I4", "UPDATE gateway_callrecord SET status = 'in_progress' WHERE charge_basis LIKE 'zero%'"),
    ("I4b", f"UPDATE gateway_callrecord SET status = 'upstream_error' {OF_300}"),
    ("I6", f"UPDATE gateway_callrecord SET prompt_tokens = 0, completion_tokens = 0 {OF_300}"),
    ("I9", f"UPDATE gateway_callrecord SET completion_tokens = 301 {OF_300}"),
    ("I9b", f"UPDATE gateway_callrecord SET completion_tokens = {2**60} {OF_300}"),
    ("I11", "UPDATE gateway_callrecord SET absorbed_nusd = 5 WHERE charge_basis LIKE 'zero%'"),
    ("I13", f"DELETE FROM gateway_callrecord {OF_300}"),
    ("I13", f"UPDATE accounts_ledgerentry SET calls = 9 {LAST}"),
    ("I13b", "UPDATE gateway_usagerollup SET calls = calls + 1"),
    ("I13c", "DELETE FROM gateway_latencyrollup WHERE measure = 'added'"),
    ("I17", f"UPDATE gateway_callrecord SET output_pusd_per_token = 1002 {OF_300}"),
    ("I18", f"UPDATE accounts_ledgerentry SET sequence = 99 {LAST}"),
    ("I20", "UPDATE accounts_ledgerentry SET actor = '' WHERE kind = 'grant'"),
]


@pytest.mark.usefixtures("recent")
@pytest.mark.parametrize(("rule", "tampering"), RECENT_TAMPERINGS)
def test_tampering_with_recent_rows_is_found_by_the_recent_proof(rule: str, tampering: str) -> None:
    tamper(tampering)

    broken = {finding.id for finding in prove(mark=find_mark()).findings if finding.breaks}

    assert rule in broken
    assert due().since is None, "the proof of all rows has the last word"


@pytest.mark.usefixtures("recent")
def test_tampering_with_old_rows_is_found_by_the_daily_proof() -> None:
    tamper("UPDATE gateway_callrecord SET completion_tokens = 901 WHERE charge_nusd = 900")

    assert due().holds
    daily = prove_what_is_due(now=timezone.now() + FULL_EVERY)

    assert daily is not None
    assert daily.since is None
    assert {text.split(":")[0] for text in daily.breaks} >= {"I9", "I13b"}


@pytest.mark.usefixtures("recent")
def test_a_broken_ledger_is_not_called_right_again_by_a_proof_of_recent_rows() -> None:
    tamper("UPDATE gateway_callrecord SET completion_tokens = 901 WHERE charge_nusd = 900")
    record_proof(prove())
    LedgerCheck.objects.update(duration_ms=60_000)

    assert not ProofMark.objects.exists()
    assert prove_what_is_due() is None, "it rests for a while after a long proof"
    again = prove_what_is_due(now=timezone.now() + timedelta(hours=1))
    assert again is not None
    assert again.since is None
    assert not again.holds


def test_rows_that_come_late_are_proved_with_all_the_others(
    tmp_path: Path, workspace: Workspace
) -> None:
    """A journal of hours ago that is posted now: its calls lie before the mark."""

    async def work(stores: ProcessStores) -> None:
        held = await hold(stores, str(workspace.pk), 700)
        record = admitted(str(workspace.pk), held, at=time.time() - LONG_AGO_S)
        stores.records.admitted(record)
        end(stores, record, 500)

    run_with_stores(tmp_path, work)

    proof = due()

    assert proof.holds
    assert proof.since is None


@pytest.mark.usefixtures("recent")
def test_the_next_mark_reads_recent_calls_alone() -> None:
    plans: list[str] = []

    def explain(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if "gateway_callrecord" in sql:
            execute(f"EXPLAIN QUERY PLAN {sql}", params, many, context)
            plans.extend(str(row[3]) for row in context["cursor"].fetchall())
        return execute(sql, params, many, context)

    with connection.execute_wrapper(explain):
        plan_mark(timezone.now())

    reads = [plan for plan in plans if "gateway_callrecord" in plan]
    assert reads
    assert all(plan.startswith("SEARCH") for plan in reads), plans


def due() -> Proof:
    proof = prove_what_is_due()
    assert proof is not None
    return proof


def tamper(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        assert cursor.rowcount > 0


def prove_while_it_runs() -> None:
    running = CallRecord.objects.filter(status="in_progress")
    wait_until(running.exists, what="the running call to be in the database")
    record_proof(prove())
