"""Budgets raised for a while: by whom, until when, and what the data plane makes of it."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.utils import timezone

from accounts.budgets import set_spending_limits
from accounts.models import AuditEvent, Membership, Role, User, Workspace
from accounts.permissions import NotAllowed
from gateway.core.spent import Spent
from gateway.stores.key_records import load_key_records
from keys.models import ApiKey
from keys.raises import Holder, end_raise, raise_budget, raises_of
from keys.services import revoke_key, set_limits
from tests.factories import ACTOR, make_key, make_member, make_user, make_workspace

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)


@pytest.fixture
def workspace() -> Workspace:
    return make_workspace()


def holders(workspace: Workspace) -> tuple[Workspace, Membership, ApiKey]:
    """Return the workspace, a member and the member's key, each with 5 nUSD a day."""
    person = make_member(workspace, Role.DEVELOPER)
    key = make_key(workspace, created_by=person).key
    member = Membership.objects.get(user=person)
    limits = {"daily_limit_nusd": 5}
    set_spending_limits(workspace, limits=limits, actor=ACTOR)
    set_spending_limits(member, limits=limits, actor=ACTOR)
    set_limits(key, limits=limits, actor=ACTOR)
    return workspace, member, key


def lift(holder: Holder, **wishes: Any) -> Any:
    values: dict[str, Any] = {"period": "day", "amount_nusd": 3, "until": timezone.now() + HOUR}
    return raise_budget(holder, actor=ACTOR, **(values | wishes))


def command(*arguments: str) -> Any:
    out = StringIO()
    call_command("set_budget", *arguments, "--json", stdout=out)
    return json.loads(out.getvalue())


def test_a_raise_applies_until_its_moment_and_is_in_the_audit_log(workspace: Workspace) -> None:
    key = holders(workspace)[-1]
    found: list[Holder] = [*holders_of(key)]
    made = [lift(holder, amount_nusd=n) for n, holder in enumerate(found, 3)]

    record = load_key_records([key.digest])[0]

    assert record is not None
    assert record.limits is not None
    assert record.limits.of_spending is not None
    for limits, one in zip(record.limits.of_spending, made, strict=True):
        until = one.until.timestamp()
        assert limits.by_period(Spent(), until - 1)[0][1] == 5 + one.amount_nusd
        assert limits.by_period(Spent(), until)[0][1] == 5
        assert limits.by_period(Spent(), until - 1)[1][1] is None
        assert limits.falls_at(until - 1) == until
        assert limits.falls_at(until) == 0.0
    events = AuditEvent.objects.filter(action__endswith=".raise_budget").order_by("pk")
    assert [event.action.partition(".")[0] for event in events] == ["workspace", "member", "key"]
    assert events[0].details["amount_nusd"] == 3
    assert events[0].details["until"] == made[0].until.isoformat(timespec="seconds")


def holders_of(key: ApiKey) -> tuple[Workspace, Membership, ApiKey]:
    member = Membership.objects.get(user=key.created_by, workspace=key.workspace)
    return key.workspace, member, key


def test_raises_add_up_and_one_can_be_ended(workspace: Workspace) -> None:
    holders(workspace)
    first, second = lift(workspace), lift(workspace, amount_nusd=4)

    assert raises_of(workspace) == [first, second]
    assert end_raise(workspace, first.id, actor=ACTOR)
    assert not end_raise(workspace, first.id, actor=ACTOR)
    assert raises_of(workspace) == [second]
    assert AuditEvent.objects.filter(action="workspace.end_raise").count() == 1


def test_a_raise_that_is_over_is_not_kept(workspace: Workspace) -> None:
    holders(workspace)
    over = lift(workspace)
    rows = workspace.budget_raises
    rows[0]["until"] = (timezone.now() - HOUR).isoformat()
    Workspace.objects.filter(pk=workspace.pk).update(budget_raises=rows)

    made = lift(workspace)

    assert raises_of(workspace) == [made]
    assert over.id not in json.dumps(workspace.budget_raises)


@pytest.mark.parametrize(
    ("named", "wishes"),
    [
        ("period", {"period": "week"}),
        ("period", {"period": "year"}),
        ("amount_nusd", {"amount_nusd": 0}),
        ("amount_nusd", {"amount_nusd": None}),
        ("amount_nusd", {"amount_nusd": 2**63 - 1}),
        ("until", {"until": None}),
        ("until", {"until": datetime(2030, 1, 1)}),
        ("until", {"until": timezone.now() - HOUR}),
        ("until", {"until": timezone.now() + timedelta(days=400)}),
    ],
)
def test_what_is_no_raise_is_named_and_changes_nothing(
    workspace: Workspace, named: str, wishes: dict[str, Any]
) -> None:
    holders(workspace)

    with pytest.raises(ValidationError) as refusal:
        lift(workspace, **wishes)

    assert list(refusal.value.message_dict) == [named]
    assert raises_of(workspace) == []


def test_who_may_change_a_budget_may_raise_it_and_nobody_their_own(workspace: Workspace) -> None:
    _, member, key = holders(workspace)
    owner, admin = make_member(workspace, Role.OWNER), make_member(workspace, Role.ADMIN)
    own = Membership.objects.get(user=admin)
    set_spending_limits(own, limits={"daily_limit_nusd": 5}, actor=ACTOR)

    def may(person: User, holder: Holder) -> bool:
        try:
            lift(holder, asked_by=person)
        except NotAllowed:
            return False
        return True

    assert may(admin, workspace)
    assert may(admin, member)
    assert may(admin, key)
    assert not may(admin, own)
    assert may(owner, own)
    assert may(make_user(is_operator=True), own)
    for holder in (workspace, member, key):
        assert not may(member.user, holder)


def test_a_revoked_key_is_not_raised(workspace: Workspace) -> None:
    key = holders(workspace)[-1]
    revoke_key(key, actor=ACTOR)

    with pytest.raises(ValidationError, match="revoked"):
        lift(key)


def test_the_command_raises_and_ends(workspace: Workspace) -> None:
    _, member, _ = holders(workspace)
    who = [workspace.slug, "--member", member.user.email]

    found = command(*who, "--daily-usd", "5", "--raise", "day=2.5", "--until", "2d")

    assert [one["amount_nusd"] for one in found["raises"]] == [2_500_000_000]
    assert found["budgets"][0]["limit_usd"] == "7.50"
    assert found["budgets"][0]["left_usd"] == "7.50"
    assert command(*who, "--end-raises")["raises"] == []
    with pytest.raises(CommandError, match="until"):
        command(*who, "--raise", "day=1")
    with pytest.raises(CommandError, match="day=5"):
        command(*who, "--raise", "1", "--until", "1d")
