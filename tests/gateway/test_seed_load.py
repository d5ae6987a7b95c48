"""`seed_load` fills a database with what the product would have written itself."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db.models import Count
from django.test import Client

from accounts.models import LedgerDay, LedgerEntry, Wallet, Workspace
from gateway.models import CallBody, CallRecord, KeyErrors
from gateway.selectors.periods import read_period
from gateway.selectors.usage import totals
from gateway.selectors.visible import Visible
from gateway.services.load_seed.access import FILE_NAME, read_access
from gateway.services.load_seed.calls import CallSource, Drawn
from gateway.services.load_seed.plan import LoadPlan
from gateway.services.proving import prove
from keys.models import ApiKey
from keys.secret import digest_secret
from tests.dashboard.demo_data import make_demo_data
from tests.factories import make_workspace

NOW = datetime(2026, 11, 18, 15, tzinfo=UTC)


def seed(**options: int | bool) -> dict[str, Any]:
    numbers = {"workspaces": 4, "keys": 30, "calls": 900, "days": 1, "bodies": 10, **options}
    out = io.StringIO()
    call_command("seed_load", json=True, stdout=out, stderr=io.StringIO(), **numbers)
    answer: dict[str, Any] = json.loads(out.getvalue())
    return answer


@pytest.mark.django_db
def test_what_it_writes_adds_up_and_pages_show_it(client: Client) -> None:
    answer = seed()

    access = read_access(settings.HOME)
    workspace = Workspace.objects.get(slug=access.slug)
    calls = CallRecord.objects.filter(workspace_id=workspace.id)
    found = totals(Visible(workspace.id), read_period({"period": "7d"}, now=datetime.now(UTC)))
    assert prove().breaks == []
    assert (answer["calls"], CallRecord.objects.count()) == (900, 900)
    assert found.calls == calls.count() > 300
    assert found.charge_nusd == sum(calls.values_list("charge_nusd", flat=True))
    assert CallBody.objects.count() == 90
    assert LedgerEntry.objects.filter(kind="usage").count() == answer["ledger_entries"]
    assert sum(LedgerDay.objects.values_list("calls", flat=True)) > 800
    assert KeyErrors.objects.exists()
    assert (Path(settings.HOME) / FILE_NAME).stat().st_mode & 0o77 == 0
    assert ApiKey.objects.filter(digest=digest_secret(access.secrets[0])).exists()
    assert client.login(username=access.email, password=access.password)
    for path in ("", "/calls?period=all&status=failed", "/keys", "/members", "/credits", "/audit"):
        assert client.get(f"/w/{access.slug}{path}").status_code == 200, path


@pytest.mark.django_db
def test_wallets_and_keys_are_spread_and_of_every_status_there_are_calls() -> None:
    seed(workspaces=12, keys=40, calls=3_000)

    by_workspace = dict(ApiKey.objects.values_list("workspace__slug").annotate(Count("pk")))
    assert by_workspace.pop("load-test-1") == 20
    assert sorted(by_workspace.values()) == [1, 1, *[2] * 9]
    assert not Wallet.objects.filter(posted_nusd__lte=0).exists()
    assert set(CallRecord.objects.values_list("status", flat=True)) == set(
        CallRecord.Status.values
    ) - {CallRecord.Status.IN_PROGRESS}


def draw(seed: int) -> list[Drawn]:
    plan = LoadPlan(workspaces=2, keys=3, calls=50, days=1, bodies=0, seed=seed, ends_at=NOW)
    source = CallSource(plan, [["a", "b"], ["c"]], str)
    return list(islice(source.draw(0, 3_600_000, 50), 50))


def test_the_same_seed_draws_the_same_calls() -> None:
    assert draw(1) == draw(1)
    assert draw(1) != draw(2)


@pytest.mark.django_db
def test_a_database_with_calls_is_refused_until_it_is_confirmed() -> None:
    make_demo_data(make_workspace(), days=1, calls_per_day=20)

    with pytest.raises(CommandError, match="--despite-calls"):
        seed()
    assert not Workspace.objects.filter(slug="load-test-1").exists()

    seed(despite_calls=True)
    with pytest.raises(CommandError, match="already"):
        seed(despite_calls=True)
    # Those that the test's own calls leave: they run in no process.
    assert [words for words in prove().breaks if words[:3] not in ("I4:", "I8:")] == []


@pytest.mark.django_db
@pytest.mark.parametrize("option", ["workspaces", "keys", "days", "bodies"])
def test_numbers_that_cannot_be(option: str) -> None:
    with pytest.raises(CommandError, match=f"--{option} must be"):
        seed(**{option: -1})
    assert not Workspace.objects.exists()
