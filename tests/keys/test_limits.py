"""Limits on keys and workspaces: what can be taken, what changes, and what commands say of it."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command

from accounts.models import AuditEvent
from accounts.services import set_call_limits
from gateway.core.budget_owner import key_owner
from gateway.core.money import MAX_NUSD
from gateway.snapshot.types import SpendingLimits
from gateway.stores.key_records import load_key_records
from keys.limits import ALL, limits_of
from keys.models import ApiKey
from keys.services import reset_total, revoke_key, set_limits
from tests.factories import ACTOR, make_key, make_workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def key() -> ApiKey:
    return make_key(make_workspace()).key


def command(name: str, *arguments: str) -> Any:
    out = StringIO()
    call_command(name, *arguments, "--json", stdout=out)
    return json.loads(out.getvalue())


@pytest.mark.parametrize(
    ("named", "limits"),
    [
        ("max_requests_per_minute", {"max_requests_per_minute": 0}),
        ("max_requests_per_minute", {"max_requests_per_minute": 1_000_001}),
        ("max_requests_per_minute", {"max_requests_per_minute": True}),
        ("burst", {"burst": 5}),
        ("burst", {"max_requests_per_minute": 5, "burst": 0}),
        ("max_concurrent", {"max_concurrent": -1}),
        ("max_concurrent", {"max_concurrent": 100_001}),
        ("daily_limit_nusd", {"daily_limit_nusd": 0}),
        ("monthly_limit_nusd", {"monthly_limit_nusd": -1}),
        ("total_limit_nusd", {"total_limit_nusd": MAX_NUSD + 1}),
        ("total_limit_nusd", {"total_limit_nusd": 1.5}),
    ],
)
def test_what_is_no_limit_is_named_and_changes_nothing(
    key: ApiKey, named: str, limits: dict[str, Any]
) -> None:
    with pytest.raises(ValidationError) as refusal:
        set_limits(key, limits=limits, actor=ACTOR)

    assert list(refusal.value.message_dict) == [named]
    assert not AuditEvent.objects.filter(action="key.limits").exists()


def test_every_limit_at_fault_is_named_at_once(key: ApiKey) -> None:
    with pytest.raises(ValidationError) as refusal:
        set_limits(key, limits={"max_concurrent": 0, "daily_limit_nusd": 0}, actor=ACTOR)

    assert set(refusal.value.message_dict) == {"max_concurrent", "daily_limit_nusd"}


def test_limits_replace_those_there_were_and_the_change_is_in_the_ledger(key: ApiKey) -> None:
    assert set_limits(key, limits={"max_concurrent": 3, "daily_limit_nusd": 7}, actor=ACTOR)
    assert set_limits(key, limits={"max_concurrent": 4}, actor=ACTOR)
    assert not set_limits(key, limits={"max_concurrent": 4}, actor=ACTOR)

    assert limits_of(key) == dict.fromkeys(ALL) | {"max_concurrent": 4}
    newest = AuditEvent.objects.filter(action="key.limits").latest("pk")
    assert newest.details == {"max_concurrent": [3, 4], "daily_limit_nusd": [7, None]}


def test_a_revoked_key_gets_no_limits(key: ApiKey) -> None:
    revoke_key(key, actor=ACTOR)

    with pytest.raises(ValidationError, match="revoked"):
        set_limits(key, limits={"max_concurrent": 3}, actor=ACTOR)


def test_a_total_is_set_back_once(key: ApiKey) -> None:
    assert reset_total(key, spent_nusd=50, actor=ACTOR)
    assert not reset_total(key, spent_nusd=50, actor=ACTOR)
    assert reset_total(key, spent_nusd=70, actor=ACTOR)

    assert key.total_baseline_nusd == 70
    events = AuditEvent.objects.filter(action="key.reset_total").order_by("pk")
    assert [event.details["spent_nusd"] for event in events] == [[50, 0], [20, 0]]


def test_a_key_without_limits_has_none_to_look_at(key: ApiKey) -> None:
    record = load_key_records([key.digest])[0]

    assert record is not None
    assert record.limits is None


def test_a_record_has_the_limits_of_the_key_and_of_its_workspace(key: ApiKey) -> None:
    set_limits(key, limits={"max_requests_per_minute": 60, "total_limit_nusd": 9}, actor=ACTOR)
    set_call_limits(key.workspace, max_requests_per_minute=5, burst=2, actor=ACTOR)

    record = load_key_records([key.digest])[0]

    assert record is not None
    assert record.limits is not None
    assert tuple(record.limits.of_key) == (60, 60, None)
    assert tuple(record.limits.of_workspace) == (5, 2, None)
    assert record.limits.of_spending is not None
    [of_key] = record.limits.of_spending
    assert of_key == SpendingLimits(key_owner(key.pk, key.workspace.pk), total_nusd=9)


def test_an_installations_limit_is_for_keys_that_have_none(key: ApiKey, settings: Any) -> None:
    settings.KEY_REQUESTS_PER_MINUTE, settings.KEY_BURST = 60, 120
    own = make_key(key.workspace).key
    set_limits(own, limits={"max_requests_per_minute": 7}, actor=ACTOR)

    records = [load_key_records([one.digest])[0] for one in (key, own)]

    limits = [record.limits.of_key for record in records if record and record.limits]
    assert [tuple(limit) for limit in limits] == [(60, 120, None), (7, 7, None)]


def test_a_key_is_issued_with_limits_by_command() -> None:
    workspace = make_workspace()
    options = ("--max-requests-per-minute", "60", "--burst", "120", "--daily-usd", "2.50")

    answer = command("issue_key", workspace.slug, "Shop", *options)

    key = ApiKey.objects.get(pk=answer["key_id"])
    assert (key.max_requests_per_minute, key.burst) == (60, 120)
    assert key.daily_limit_nusd == answer["daily_limit_nusd"] == 2_500_000_000
    assert answer["daily_limit_usd"] == "2.50"


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (("--burst", "5"), "--burst"),
        (("--max-concurrent", "few"), "--max-concurrent"),
        (("--max-concurrent", "0"), "--max-concurrent"),
        (("--daily-usd", "lots"), "USD"),
        (("--total-usd", "0"), "--total-usd"),
    ],
)
def test_a_command_with_a_limit_that_is_none_makes_no_key(
    option: tuple[str, str], words: str
) -> None:
    workspace = make_workspace()

    with pytest.raises(CommandError, match=words):
        command("issue_key", workspace.slug, "Shop", *option)

    assert not ApiKey.objects.exists()


def test_set_key_changes_what_is_named_alone(key: ApiKey) -> None:
    command("set_key", str(key.pk), "--max-concurrent", "3", "--total-usd", "5")

    answer = command("set_key", str(key.pk), "--max-concurrent", "none", "--reset-total")

    assert answer["changed"] is True
    assert (answer["max_concurrent"], answer["total_limit_usd"]) == (None, "5.00")
    assert answer["spent_of_total_usd"] == "0.00"
    assert command("set_key", str(key.pk))["changed"] is False


def test_set_workspace_changes_what_is_named_alone() -> None:
    workspace = make_workspace()
    command("set_workspace", workspace.slug, "--max-concurrent", "9", "--profile", "bud")

    answer = command("set_workspace", workspace.slug, "--max-requests-per-minute", "90")

    assert (answer["max_concurrent"], answer["max_requests_per_minute"]) == (9, 90)
    assert answer["compat_profile"] == "bud"
    with pytest.raises(CommandError, match="Specify what to change"):
        command("set_workspace", workspace.slug)
