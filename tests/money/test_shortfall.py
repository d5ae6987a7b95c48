"""What calls cost beyond their holds: paid as far as the balance covers it, once, else a loss."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings

from accounts import ledger
from accounts.models import AuditEvent, Wallet, Workspace
from gateway.core.calendar import calendar_at
from gateway.core.ids import new_request_id
from gateway.journal.record import Settled
from gateway.models import CallRecord
from gateway.services.proving import prove
from gateway.stores.process_stores import ProcessStores
from keys.models import ApiKey
from keys.services import issue_key
from tests.money.office import KEY_ID, admitted, hold, make_rich, run_with_stores, settled
from tests.support.waiting import wait_for_a_day_that_lasts

pytestmark = pytest.mark.django_db(transaction=True)


def run_calls(home: Path, workspace: Workspace, costs: Sequence[int], **fields: Any) -> list[str]:
    """Make calls that hold 100 each at the same time and cost more; return their ids."""
    workspace_id = str(workspace.pk)

    async def work(stores: ProcessStores) -> list[str]:
        records = [
            admitted(workspace_id, await hold(stores, workspace_id, 100), **fields) for _ in costs
        ]
        for record, cost in zip(records, costs, strict=True):
            stores.records.admitted(record)
            paid = stores.credits.release(workspace_id, record.hold_nusd, cost)
            stores.records.settled(
                settled(record, paid, owed_nusd=cost - paid, completion_tokens=cost)
            )
        return [record.call_id for record in records]

    return run_with_stores(home, work)


def amounts(call_id: str) -> tuple[int, int]:
    record = CallRecord.objects.get(pk=call_id)
    return record.charge_nusd, record.absorbed_nusd


def test_cost_beyond_the_hold_is_charged_where_there_is_money(tmp_path: Path) -> None:
    workspace = make_rich(10_000)

    calls = run_calls(tmp_path, workspace, [350, 4_000])

    assert [amounts(call) for call in calls] == [(350, 0), (4_000, 0)]
    assert Wallet.objects.get().posted_nusd == 10_000 - 4_350
    assert prove().breaks == []


def test_cost_beyond_the_balance_is_absorbed_and_the_balance_ends_at_nothing(
    tmp_path: Path,
) -> None:
    workspace = make_rich(300)

    calls = run_calls(tmp_path, workspace, [350, 150])

    charged = [amounts(call) for call in calls]
    assert [charge + absorbed for charge, absorbed in charged] == [350, 150]
    assert sum(charge for charge, _ in charged) == 300
    assert min(charge for charge, _ in charged) >= 100  # what a call held is its own
    assert Wallet.objects.get().posted_nusd == 0
    assert prove().breaks == []


def test_a_key_that_costs_more_than_is_taken_on_in_a_day_is_refused_until_it_is_over(
    tmp_path: Path, settings: LazySettings
) -> None:
    wait_for_a_day_that_lasts()
    settings.KEY_LOSS_NUSD_PER_DAY = 500
    workspace = make_rich(200)
    key = issue_key(workspace=workspace, label="k", actor="tests").key

    run_calls(tmp_path, workspace, [400, 200], key_id=str(key.pk))
    key.refresh_from_db()
    assert key.refused_until is None  # 400 lost

    make_richer(workspace, 100)
    run_calls(tmp_path, workspace, [201], key_id=str(key.pk))

    key.refresh_from_db()
    assert key.refused_until == calendar_at("UTC", time.time()).day.ends_at
    event = AuditEvent.objects.get(action="key.refuse")
    assert event.details["lost_nusd"] == 501
    assert prove().breaks == []


def test_losses_of_other_keys_and_what_providers_failed_at_refuse_nobody(
    tmp_path: Path, settings: LazySettings
) -> None:
    settings.KEY_LOSS_NUSD_PER_DAY = 1
    workspace = make_rich(1_000)
    key = issue_key(workspace=workspace, label="k", actor="tests").key

    async def work(stores: ProcessStores) -> None:
        workspace_id = str(workspace.pk)
        beginning = admitted(
            workspace_id, await hold(stores, workspace_id, 100), key_id=str(key.pk)
        )
        stores.records.admitted(beginning)
        stores.credits.release(workspace_id, 100, 0)
        failed = {"status": "upstream_error", "charge_basis": "zero_upstream"}
        stores.records.settled(
            settled(beginning, 0, absorbed_nusd=90, completion_tokens=90, **failed)
        )

    run_with_stores(tmp_path, work)
    run_calls(tmp_path, workspace, [2_000], key_id=KEY_ID)

    assert CallRecord.objects.filter(absorbed_nusd__gt=0).count() == 2
    assert not ApiKey.objects.exclude(refused_until=None).exists()


def test_a_record_of_an_older_process_owes_nothing() -> None:
    fields = settled(admitted(str(uuid.uuid4()), 5, call_id=new_request_id()), 5)

    assert isinstance(fields, Settled)
    assert fields.owed_nusd == 0


def make_richer(workspace: Workspace, amount_nusd: int) -> None:
    ledger.grant(workspace, amount_nusd=amount_nusd, actor="tests", reason="test")
