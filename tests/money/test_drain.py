"""A batch lands whole and once, whatever it is made of."""

from __future__ import annotations

import math
import uuid
from pathlib import Path

import pytest

from accounts import ledger
from accounts.models import LedgerEntry, Wallet, Workspace
from gateway.journal.file import START, Position
from gateway.journal.record import Record
from gateway.models import CallBody, CallRecord, LatencyRollup, ServingProcess, UsageRollup
from gateway.services.proving import prove
from gateway.stores.drain import Fenced, drain
from tests.money.office import admitted, make_rich, refused, settled

pytestmark = pytest.mark.django_db

PROCESS = uuid.UUID(int=5)
FIRST, SECOND = Position(0, 100), Position(0, 200)
QUARTER = 1_763_715_600.0


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = make_rich(1_000)
    ledger.draw(workspace.pk, PROCESS, want_nusd=900, least_nusd=900)
    ServingProcess.objects.create(
        id=PROCESS,
        host="here",
        pid=1,
        started_at="2026-01-01T00:00:00Z",
        heartbeat_at="2026-01-01T00:00:00Z",
        lease_until="2026-01-01T00:00:00Z",
        journal_path=str(tmp_path),
    )
    return workspace


def test_call_that_spans_two_batches_is_one_row_and_one_charge(workspace: Workspace) -> None:
    begun = admitted(str(workspace.pk), 100)

    drain(PROCESS, [begun], START, FIRST)
    assert CallRecord.objects.get().status == "in_progress"
    drain(PROCESS, [settled(begun, 40)], FIRST, SECOND)

    call = CallRecord.objects.get()
    assert (call.status, call.charge_nusd, call.hold_nusd) == ("ok", 40, 100)
    assert LedgerEntry.objects.get(kind="usage").amount_nusd == -40
    assert prove().breaks == []


def test_batch_that_landed_changes_nothing_when_it_comes_again(workspace: Workspace) -> None:
    begun = admitted(str(workspace.pk), 100)
    records: list[Record] = [begun, settled(begun, 40)]

    first = drain(PROCESS, records, START, FIRST)
    again = drain(PROCESS, records, START, FIRST)

    assert first == again == {str(workspace.pk): 40}
    assert Wallet.objects.get(pk=workspace.pk).posted_nusd == 960


def test_what_a_call_owes_is_drawn_from_the_wallet_once_and_the_rest_absorbed(
    workspace: Workspace,
) -> None:
    begun = admitted(str(workspace.pk), 100)
    records: list[Record] = [begun, settled(begun, 100, owed_nusd=250, completion_tokens=350)]

    first = drain(PROCESS, records, START, FIRST)
    again = drain(PROCESS, records, START, FIRST)

    assert first == again == {str(workspace.pk): 100}
    call, wallet = CallRecord.objects.get(), Wallet.objects.get(pk=workspace.pk)
    assert (call.charge_nusd, call.absorbed_nusd) == (200, 150)
    assert (wallet.posted_nusd, wallet.drawn_nusd) == (800, 800)
    assert prove().breaks == []


@pytest.mark.parametrize("state", ["reaped", "stopped"])
def test_process_that_has_ended_posts_nothing(workspace: Workspace, state: str) -> None:
    ServingProcess.objects.update(state=state)

    with pytest.raises(Fenced):
        drain(PROCESS, [admitted(str(workspace.pk), 100)], START, FIRST)

    assert not CallRecord.objects.exists()


def test_end_of_a_call_nobody_admitted_is_left_out(workspace: Workspace) -> None:
    stray = settled(admitted(str(workspace.pk), 100), 40)

    assert drain(PROCESS, [stray], START, FIRST) == {}

    assert not CallRecord.objects.exists()
    assert Wallet.objects.get(pk=workspace.pk).posted_nusd == 1_000


def test_refusals_bodies_and_free_calls_have_their_rows_too(workspace: Workspace) -> None:
    free = admitted(str(workspace.pk), 0)
    refusal = refused(str(workspace.pk), at=QUARTER, http_status=402, error_code="none", total_us=9)
    said = settled(free, 0, output_pusd=0, request_body="hello", response_body="hi", streamed=True)

    drain(PROCESS, [refusal, free, said], START, FIRST)

    assert set(CallRecord.objects.values_list("status", flat=True)) == {"refused", "ok"}
    assert (CallBody.objects.get().request, CallBody.objects.get().response) == ("hello", "hi")
    assert not LedgerEntry.objects.filter(kind="usage").exists()
    assert UsageRollup.objects.count() == 2
    assert prove().breaks == []


@pytest.mark.parametrize(
    "at", [QUARTER, math.nextafter(QUARTER, 0), math.nextafter(QUARTER, 2e9), QUARTER - 6e-7]
)
def test_row_and_totals_agree_at_the_edge_of_a_quarter(workspace: Workspace, at: float) -> None:
    begun = admitted(str(workspace.pk), 100, at=at)

    drain(PROCESS, [begun, settled(begun, 40)], START, FIRST)

    assert prove().breaks == []
    assert LatencyRollup.objects.count() == 2


def test_calls_that_land_together_keep_what_is_their_own(workspace: Workspace) -> None:
    begun = [admitted(str(workspace.pk), 100) for _ in range(87)]
    ended = [
        settled(
            call,
            charge_nusd=number % 7,
            model=("m", "other")[number % 5 == 0],
            user=f"user {number}",
            total_us=1_000 + number,
        )
        for number, call in enumerate(begun)
    ]

    drain(PROCESS, [*begun, *reversed(ended)], START, FIRST)

    rows = {str(call.pk): call for call in CallRecord.objects.all()}
    assert len(rows) == 87
    for record in ended:
        row = rows[record.call_id]
        said = (
            record.paid_nusd,
            record.served.model,
            record.identity.user,
            record.receipt.total_us,
        )
        assert (row.charge_nusd, row.model, row.user, row.total_us) == said
    assert prove().breaks == []


def test_end_of_a_call_tells_what_an_older_journal_left_out_of_its_beginning(
    workspace: Workspace,
) -> None:
    begun = admitted(str(workspace.pk), 100)
    assert begun.model == ""

    drain(PROCESS, [begun], START, FIRST)
    drain(PROCESS, [settled(begun, 40, user="u", ip="127.0.0.1")], FIRST, SECOND)

    call = CallRecord.objects.get()
    assert (call.model, call.user, call.ip) == ("m", "u", "127.0.0.1")
    assert prove().breaks == []
