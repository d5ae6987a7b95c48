"""Where people see that calls cost more than the balance had."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.conf import LazySettings

from accounts.models import Role
from keys.services import issue_key
from tests.dashboard.visitors import signed_in
from tests.factories import make_member
from tests.money.office import make_rich
from tests.money.test_shortfall import run_calls
from tests.support.waiting import wait_for_a_day_that_lasts

pytestmark = pytest.mark.django_db(transaction=True)


def test_losses_are_on_the_overview_the_key_and_the_call(
    tmp_path: Path, settings: LazySettings
) -> None:
    wait_for_a_day_that_lasts()
    settings.KEY_LOSS_NUSD_PER_DAY = 10**9
    workspace = make_rich(2 * 10**9)
    key = issue_key(workspace=workspace, label="Lossy", actor="tests").key
    owner = make_member(workspace, Role.OWNER)
    client = signed_in(owner)
    [call_id] = run_calls(tmp_path, workspace, [5 * 10**9], key_id=str(key.pk))

    key_page = client.get(f"/keys/{key.pk}").content.decode()
    assert "Calls refused" in key_page
    assert "Calls with this key are refused until" in key_page
    call_page = client.get(f"/calls/{call_id}").content.decode()
    assert "Charged above the hold" in call_page
    assert "Absorbed, not charged" in call_page
    notice = "more than the balances covered"
    assert notice not in client.get("/").content.decode()

    owner.is_operator = True
    owner.save()
    overview = client.get("/").content.decode()
    assert notice in overview
    assert "$3" in overview[: overview.index(notice)]
