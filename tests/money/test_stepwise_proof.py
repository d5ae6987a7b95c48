"""The proof of all rows is made in short steps; it misses nothing, rests, stops and goes on."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from django.db import connection, transaction
from msgspec.structs import replace

from accounts import ledger as money
from accounts.models import Workspace
from gateway.models import ProofProgress
from gateway.services import stepwise_proof
from gateway.services.periodic_proof import prove_what_is_due
from gateway.services.proving import Proof, prove, record_proof
from gateway.services.rolling_up import roll_up
from gateway.stores.process_stores import ProcessStores
from tests.money.office import admitted, end, hold, make_rich, refused, run_with_stores

pytestmark = pytest.mark.django_db(transaction=True)

HOUR_S = 3_600
NO_TIME = 0.0  # for more than one step


@pytest.fixture(autouse=True)
def short_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stepwise_proof, "ROWS", 2)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Calls over two days, in more steps than one; of 900 nUSD the oldest, of 300 the newest."""
    workspace = make_rich(100_000)
    money.grant(workspace, amount_nusd=50, actor="tests", reason="more")
    for charge, age_s in ((900, 50 * HOUR_S), (800, 26 * HOUR_S), (700, 3 * HOUR_S), (300, 0)):
        make_calls(tmp_path, workspace, charge, age_s)
    make_rich(7)
    assert roll_up() == 3
    return workspace


def make_calls(folder: Path, workspace: Workspace, charge: int, age_s: int) -> None:
    """Make a call that cost so much and two that failed, all begun so many seconds ago."""

    async def work(stores: ProcessStores) -> None:
        for cost in (charge, None, None):
            held = await hold(stores, str(workspace.pk), 1_000)
            record = admitted(str(workspace.pk), held, at=time.time() - age_s)
            stores.records.admitted(record)
            if cost is not None:
                end(stores, record, cost)

    run_with_stores(folder, work)


def test_a_proof_in_steps_looks_at_what_a_proof_at_once_looks_at(workspace: Workspace) -> None:
    whole = prove()
    assert whole.breaks == []

    steps = prove_in_steps()

    assert steps.since is None
    assert steps.breaks == []
    assert (steps.calls, steps.entries) == (whole.calls, whole.entries)
    assert not ProofProgress.objects.exists()


def test_refusals_that_are_counted_are_proved_in_steps_as_at_once(
    workspace: Workspace, tmp_path: Path
) -> None:
    async def work(stores: ProcessStores) -> None:
        first = refused(str(workspace.pk), at=time.time() - 26 * HOUR_S)
        for counted in (3, 4):
            stores.records.refused(replace(first, counted=counted))

    run_with_stores(tmp_path, work)

    assert prove().breaks == []
    assert prove_in_steps().breaks == []


OLD = "WHERE charge_nusd = 900"
FIRST = "WHERE id = (SELECT MIN(id) FROM accounts_ledgerentry WHERE kind = 'usage')"
FAILED = "WHERE id = (SELECT MIN(id) FROM gateway_callrecord WHERE charge_basis LIKE 'zero%')"
OLDEST = "WHERE starts_at = (SELECT MIN(starts_at) FROM gateway_usagerollup)"
TAMPERINGS = [
    ("I1", "UPDATE accounts_wallet SET posted_nusd = posted_nusd + 1"),
    ("I1b", f"UPDATE accounts_ledgerentry SET balance_nusd = balance_nusd + 1 {FIRST}"),
    ("I1", f"UPDATE accounts_ledgerentry SET amount_nusd = amount_nusd - 1 {FIRST}"),
    ("I4b", f"UPDATE gateway_callrecord SET status = 'upstream_error' {OLD}"),
    ("I6", f"UPDATE gateway_callrecord SET prompt_tokens = 0, completion_tokens = 0 {OLD}"),
    ("I9", f"UPDATE gateway_callrecord SET completion_tokens = 901 {OLD}"),
    ("I9b", f"UPDATE gateway_callrecord SET completion_tokens = {2**60} {OLD}"),
    ("I11", f"UPDATE gateway_callrecord SET absorbed_nusd = 5 {FAILED}"),
    ("I13", f"DELETE FROM gateway_callrecord {OLD}"),
    ("I13", f"UPDATE accounts_ledgerentry SET calls = 9 {FIRST}"),
    ("I13b", f"UPDATE gateway_usagerollup SET calls = calls + 1 {OLDEST}"),
    ("I13b", "DELETE FROM gateway_usagerollup"),
    ("I13c", f"DELETE FROM gateway_latencyrollup {OLDEST} AND measure = 'added'"),
    ("I13d", "UPDATE gateway_keyusage SET calls = calls + 1 WHERE span_s = 86400"),
    ("I13e", "DELETE FROM gateway_workspaceusage WHERE span_s = 900"),
    ("I13f", "UPDATE gateway_workspacelatency SET calls = calls + 1 WHERE span_s = 3600"),
    ("I17", f"UPDATE gateway_callrecord SET output_pusd_per_token = 1002 {OLD}"),
    ("I18", f"UPDATE accounts_ledgerentry SET sequence = 99 {FIRST}"),
    ("I20", "UPDATE accounts_ledgerentry SET actor = '' WHERE kind = 'grant'"),
]


@pytest.mark.usefixtures("workspace")
def test_tampering_is_found_in_steps() -> None:
    """One ledger for all of them, as it takes longer to make than to prove."""
    for rule, tampering in TAMPERINGS:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(tampering)
            assert cursor.rowcount > 0, tampering

            broken = {text.split(":")[0] for text in prove_in_steps().breaks}

            transaction.set_rollback(True)
        assert rule in broken, tampering
    assert prove_in_steps().holds


def test_a_proof_goes_on_where_it_stopped_while_calls_are_made(
    tmp_path: Path, workspace: Workspace
) -> None:
    steps, proof = 0, None
    while proof is None:
        make_calls(tmp_path, workspace, 100, 0)
        proof = prove_what_is_due(work_s=NO_TIME)
        steps += 1

    assert steps > 8, "a step each time, and nothing from the beginning"
    assert proof.since is None
    assert proof.breaks == []
    assert proof.calls == 12 + 3 * steps, "the newest are proved by the proof that follows"
    record_proof(proof)
    recent = prove_what_is_due()
    assert recent is not None
    assert recent.since is not None


def test_calls_that_come_where_the_walk_has_been_are_no_break(
    tmp_path: Path, workspace: Workspace, caplog: pytest.LogCaptureFixture
) -> None:
    """A journal of days ago that is posted meanwhile: only a second pass sees all of it."""
    while not ProofProgress.objects.filter(state__stage="totals").exists():
        assert prove_what_is_due(work_s=NO_TIME) is None
    make_calls(tmp_path, workspace, 200, 40 * HOUR_S)

    proof = prove_in_steps()

    assert "checking again" in caplog.text
    assert proof.breaks == []
    assert proof.calls == 15


def prove_in_steps() -> Proof:
    proof = None
    while proof is None:
        proof = prove_what_is_due()
    return proof
