"""Budgets of workspaces and members: who may change them, and what the data plane gets."""

from __future__ import annotations

import json
import time
import uuid
from datetime import datetime
from io import StringIO
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command

from accounts.budgets import has_own_budget, reset_total, set_spending_limits, set_timezone
from accounts.models import AuditEvent, ConfigChange, Membership, Role, User, Workspace
from accounts.permissions import NotAllowed
from gateway.admission.spending import Spending
from gateway.core.budget_owner import Level, key_owner, workspace_owner
from gateway.core.calendar import calendar_at
from gateway.core.spent import Reading, Spent
from gateway.core.time_spans import QUARTER_S
from gateway.models import UsageRollup
from gateway.selectors.spending import spent_by
from gateway.stores.key_records import load_key_records
from keys.member_actions import create_key, transfer_key
from keys.services import set_limits
from tests.factories import ACTOR, make_key, make_member, make_user, make_workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspace() -> Workspace:
    return make_workspace()


def membership(workspace: Workspace, user: User) -> Membership:
    return Membership.objects.get(workspace=workspace, user=user)


def command(*arguments: str) -> Any:
    out = StringIO()
    call_command("set_budget", *arguments, "--json", stdout=out)
    return json.loads(out.getvalue())


def spend(workspace: Workspace, key_id: uuid.UUID, at: float, nusd: int) -> None:
    UsageRollup.objects.create(
        workspace_id=workspace.pk,
        key_id=key_id,
        starts_at=f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(at))}Z",
        model="m",
        status="ok",
        calls=1,
        prompt_tokens=0,
        completion_tokens=0,
        charge_nusd=nusd,
        absorbed_nusd=0,
    )


def test_limits_replace_those_there_were_and_are_in_the_audit_log(workspace: Workspace) -> None:
    assert set_spending_limits(workspace, limits={"weekly_limit_nusd": 7}, actor=ACTOR)
    assert set_spending_limits(workspace, limits={"daily_limit_nusd": 5}, actor=ACTOR)
    assert not set_spending_limits(workspace, limits={"daily_limit_nusd": 5}, actor=ACTOR)

    newest = AuditEvent.objects.filter(action="workspace.set_budget").latest("pk")
    assert newest.details == {"daily_limit_nusd": [None, 5], "weekly_limit_nusd": [7, None]}
    told = ConfigChange.objects.filter(kind="workspace", ref=workspace.pk.hex)
    assert told.count() == 2


def test_what_is_no_budget_is_named_and_changes_nothing(workspace: Workspace) -> None:
    wrong = {"daily_limit_nusd": 0, "weekly_limit_nusd": 1, "total_limit_nusd": -1}

    with pytest.raises(ValidationError) as refusal:
        set_spending_limits(workspace, limits=wrong, actor=ACTOR)

    assert set(refusal.value.message_dict) == {"daily_limit_nusd", "total_limit_nusd"}
    workspace.refresh_from_db()
    assert workspace.weekly_limit_nusd is None


@pytest.mark.parametrize("name", ["", "Mars/Olympus", "localtime", "../../etc/passwd"])
def test_an_unknown_time_zone_is_refused(workspace: Workspace, name: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        set_timezone(workspace, timezone=name, actor=ACTOR)

    assert list(refusal.value.message_dict) == ["timezone"]


def test_a_record_has_the_budgets_of_workspace_member_and_key(workspace: Workspace) -> None:
    person = make_member(workspace, Role.DEVELOPER)
    key = make_key(workspace, created_by=person).key
    set_spending_limits(workspace, limits={"weekly_limit_nusd": 7}, actor=ACTOR)
    member = membership(workspace, person)
    set_spending_limits(member, limits={"total_limit_nusd": 5}, actor=ACTOR)
    reset_total(member, spent_nusd=3, actor=ACTOR)
    set_timezone(workspace, timezone="Asia/Kathmandu", actor=ACTOR)
    set_limits(key, limits={"daily_limit_nusd": 2}, actor=ACTOR)

    record = load_key_records([key.digest])[0]

    assert record is not None
    assert record.limits is not None
    assert record.limits.of_spending is not None
    of_workspace, of_member, of_key = record.limits.of_spending
    assert [of_workspace.owner.level, of_workspace.weekly_nusd] == [Level.WORKSPACE, 7]
    assert [of_member.owner.id, of_member.owner.member_id] == [record.member, person.pk]
    assert [of_member.total_nusd, of_member.total_baseline_nusd] == [5, 3]
    assert [of_key.owner.id, of_key.daily_nusd] == [str(key.pk), 2]
    assert {one.timezone for one in record.limits.of_spending} == {"Asia/Kathmandu"}


def test_nobody_changes_their_own_budget(workspace: Workspace) -> None:
    owner, admin = make_member(workspace, Role.OWNER), make_member(workspace, Role.ADMIN)
    other = make_member(workspace, Role.OWNER)
    operator = make_user(is_operator=True)
    limits = {"daily_limit_nusd": 5}

    def may(person: User, holder: Workspace | Membership) -> bool:
        try:
            set_spending_limits(holder, limits=limits, actor=ACTOR, asked_by=person)
        except NotAllowed:
            return False
        return True

    assert not may(admin, membership(workspace, admin))
    assert not may(admin, membership(workspace, owner))
    assert not may(owner, membership(workspace, owner))
    assert may(owner, membership(workspace, admin))
    assert may(owner, membership(workspace, other))
    assert may(admin, workspace)
    assert may(operator, membership(workspace, owner))
    assert not may(make_member(workspace, Role.DEVELOPER), workspace)
    assert not may(make_member(workspace, Role.BILLING), membership(workspace, admin))


def test_who_is_limited_makes_no_keys_beside_the_limit(workspace: Workspace) -> None:
    admin = make_member(workspace, Role.ADMIN)
    own = make_key(workspace, created_by=admin).key
    set_spending_limits(membership(workspace, admin), limits={"daily_limit_nusd": 5}, actor=ACTOR)

    assert has_own_budget(admin, workspace)
    with pytest.raises(NotAllowed, match="budget"):
        transfer_key(own, person=admin)
    with pytest.raises(NotAllowed, match="budget"):
        create_key(
            workspace=workspace,
            person=admin,
            rules={"label": "A", "scopes": ["completions"]},
            compatibility={"compat_profile": ""},
            limits={},
            is_service=True,
        )
    assert transfer_key(own, person=make_member(workspace, Role.ADMIN))


@pytest.mark.parametrize("zone", ["Asia/Kathmandu", "America/St_Johns", "UTC", "Pacific/Chatham"])
def test_the_command_says_what_is_spent_of_each_period(workspace: Workspace, zone: str) -> None:
    person = make_member(workspace, Role.DEVELOPER)
    key = make_key(workspace, created_by=person).key
    other = make_key(workspace).key
    calendar = calendar_at(zone, time.time())
    moments = {
        calendar.day.starts_s: 1,
        calendar.day.starts_s - QUARTER_S: 10,
        calendar.week.starts_s - QUARTER_S: 100,
        calendar.month.starts_s - QUARTER_S: 1_000,
    }
    for at, nusd in moments.items():
        spend(workspace, key.pk, at, nusd)
    spend(workspace, other.pk, calendar.day.starts_s, 10_000)
    expected = {
        "day": sum(n for at, n in moments.items() if at >= calendar.day.starts_s),
        "week": sum(n for at, n in moments.items() if at >= calendar.week.starts_s),
        "month": sum(n for at, n in moments.items() if at >= calendar.month.starts_s),
        "total": sum(moments.values()),
    }

    command(workspace.slug, "--timezone", zone)
    for arguments, more in (
        (["--key", str(key.pk)], 0),
        (["--member", person.email], 0),
        ([], 10_000),
    ):
        found = command(workspace.slug, *arguments, "--weekly-usd", "1")
        spent = {line["period"]: line["spent_usd"] for line in found["budgets"]}
        assert spent == {
            period: f"{(nusd + more) / 10**9:.9f}".rstrip("0") for period, nusd in expected.items()
        }
        ends = {line["period"]: line["resets_at"] for line in found["budgets"]}
        assert ends["week"] == calendar.week.ends_at.isoformat()
        assert ends["total"] is None


def test_the_command_resets_a_total(workspace: Workspace) -> None:
    spend(workspace, make_key(workspace).key.pk, time.time(), 10**9)

    found = command(workspace.slug, "--total-usd", "5", "--reset-total")

    assert found["changed"]
    assert found["budgets"][-1] == {
        "period": "total",
        "limit_usd": "5.00",
        "spent_usd": "0.00",
        "left_usd": "5.00",
        "resets_at": None,
    }
    assert not command(workspace.slug)["changed"]


def test_the_command_names_what_it_cannot_find(workspace: Workspace) -> None:
    foreign = make_key(make_workspace("Other")).key

    with pytest.raises(CommandError, match="not a member"):
        command(workspace.slug, "--member", "nobody@example.com")
    with pytest.raises(CommandError, match="not to Acme"):
        command(workspace.slug, "--key", str(foreign.pk))
    with pytest.raises(CommandError, match="time zone"):
        command(workspace.slug, "--timezone", "Mars")


# Zone, a moment there, and how many hours its day, week and month have: the clocks are changed in
# the night to that day.
CLOCK_CHANGES = [
    ("Europe/Berlin", datetime(2026, 3, 29, 12), (23, 167, 743)),
    ("Europe/Berlin", datetime(2026, 10, 25, 12), (25, 169, 745)),
    # From midnight to one o'clock: the day begins at one.
    ("America/Santiago", datetime(2026, 9, 6, 12), (23, 167, 719)),
    # From midnight back to eleven: the day before has eleven o'clock twice.
    ("America/Santiago", datetime(2026, 4, 4, 12), (25, 169, 721)),
    ("Australia/Lord_Howe", datetime(2026, 10, 4, 12), (23.5, 167.5, 743.5)),
]


@pytest.mark.parametrize(("zone", "noon", "hours"), CLOCK_CHANGES)
def test_days_weeks_and_months_in_which_clocks_are_changed_are_whole(
    workspace: Workspace, zone: str, noon: datetime, hours: tuple[float, float, float]
) -> None:
    """What was spent in the first and the last quarter of an hour counts, the ones around do
    not."""
    at = noon.replace(tzinfo=ZoneInfo(zone)).timestamp()
    calendar = calendar_at(zone, at)
    key = make_key(workspace).key

    found = (calendar.day, calendar.week, calendar.month)
    lengths = [(span.ends_s - span.starts_s) / 3_600 for span in found]
    assert lengths == list(hours)
    moments = {
        calendar.day.starts_s - QUARTER_S: 1,
        calendar.day.starts_s: 10,
        calendar.day.ends_s - QUARTER_S: 100,
        calendar.week.starts_s - QUARTER_S: 1_000,
        calendar.month.starts_s - QUARTER_S: 10_000,
    }
    for moment, nusd in moments.items():
        spend(workspace, key.pk, moment, nusd)
    for owner in (workspace_owner(workspace.pk), key_owner(key.pk, workspace.pk)):
        spent = spent_by(owner, at, timezone=zone)
        expected = [
            sum(n for moment, n in moments.items() if span.starts_s <= moment) for span in found
        ]
        assert list(spent) == [*expected, sum(moments.values())]
    before = Spending()
    before.read(Reading(Spent(7, 8, 9, 10), calendar.day.starts_s - 1.0, 0, zone))
    assert before.spent(calendar.day.starts_s - 0.5).day_nusd == 7
    assert before.spent(calendar.day.starts_s).day_nusd == 0
    before.charge(5, calendar.day.starts_s + 1.0, 1)
    assert before.spent(calendar.day.ends_s - 0.5).day_nusd == 5
    assert before.spent(calendar.day.ends_s).day_nusd == 0
