"""The pages of budgets: of a workspace, a member and a key."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from accounts.budgets import set_spending_limits, set_timezone
from accounts.models import Membership, Role, Workspace
from dashboard.forms.submit_once import new_form_token
from keys.models import ApiKey
from keys.raises import raise_budget, raises_of
from keys.services import set_limits
from tests.dashboard.visitors import Visitor, path_of, seen_on, signed_in
from tests.factories import ACTOR, make_key, make_member, make_workspace

pytestmark = pytest.mark.django_db

BUDGETS = {
    "daily_limit_nusd": "5",
    "weekly_limit_nusd": "",
    "monthly_limit_nusd": "70.5",
    "total_limit_nusd": "",
}


@pytest.fixture
def workspace() -> Workspace:
    return make_workspace()


@pytest.fixture
def visitor(workspace: Workspace) -> Visitor:
    return signed_in(make_member(workspace, Role.OWNER))


@pytest.fixture
def member(workspace: Workspace) -> Membership:
    return Membership.objects.get(user=make_member(workspace, Role.DEVELOPER))


@pytest.fixture
def key(workspace: Workspace, member: Membership) -> ApiKey:
    return make_key(workspace, created_by=member.user).key


def holder(name: str, key: ApiKey) -> tuple[Workspace | Membership | ApiKey, str]:
    """Return whose budgets a page is about, and its address."""
    member = Membership.objects.get(user=key.created_by)
    if name == "workspace":
        return key.workspace, path_of("settings-budget")
    if name == "member":
        return member, path_of("member-budget", member.pk)
    return key, path_of("key-budget", key.pk)


@pytest.mark.parametrize("name", ["workspace", "member", "key"])
def test_budgets_are_set_raised_and_ended(visitor: Visitor, key: ApiKey, name: str) -> None:
    found, url = holder(name, key)
    assert visitor.get(url).status_code == 200

    if name == "key":  # the form is on the page of the key
        assert visitor.post(url, BUDGETS).status_code == 422
        limits = {"daily_limit_nusd": 5 * 10**9, "monthly_limit_nusd": 70_500_000_000}
        set_limits(key, limits=limits, actor=ACTOR)
    else:
        seen = seen_on(visitor, url)
        answer = visitor.post(url, BUDGETS | seen | {"timezone": "Asia/Kathmandu"})
        assert answer.status_code == 302

    found.refresh_from_db()
    assert found.daily_limit_nusd == 5 * 10**9
    assert found.monthly_limit_nusd == 70_500_000_000
    assert found.weekly_limit_nusd is None
    until = (timezone.now() + timedelta(days=2)).replace(second=0, microsecond=0)
    typed = until.astimezone(ZoneInfo("Asia/Kathmandu" if name == "workspace" else "UTC"))
    wish = {"do": "raise", "period": "day", "amount_nusd": "2.5", "token": new_form_token()}
    wish |= {"until": f"{typed:%Y-%m-%dT%H:%M}"}
    assert visitor.post(url, wish).status_code == 302
    again = visitor.post(url, wish)
    assert again.status_code == 409
    assert "already submitted. The raise is in the list above." in again.content.decode()
    found.refresh_from_db()
    [raised] = raises_of(found)
    assert (raised.amount_nusd, raised.until.astimezone(UTC)) == (2_500_000_000, until)
    page = visitor.get(url).content.decode()
    assert "Daily budget + " in page
    assert "$7.50" in page
    visitor.post(url, {"do": "end", "raise": raised.id})
    found.refresh_from_db()
    assert raises_of(found) == []


def test_the_workspaces_time_zone_is_chosen(visitor: Visitor, workspace: Workspace) -> None:
    url = path_of("settings-budget")

    wanted = BUDGETS | seen_on(visitor, url) | {"timezone": "Europe/Berlin"}
    assert visitor.post(url, wanted).status_code == 302
    wrong = visitor.post(url, BUDGETS | {"timezone": "Mars", "daily_limit_nusd": "9"})

    assert wrong.status_code == 422
    workspace.refresh_from_db()
    assert workspace.timezone == "Europe/Berlin"
    assert workspace.daily_limit_nusd == 5 * 10**9
    assert "begin in Europe/Berlin" in visitor.get(url).content.decode()


@pytest.mark.parametrize("name", ["workspace", "member"])
def test_the_second_of_two_people_who_set_budgets_at_once_is_told(
    visitor: Visitor, key: ApiKey, name: str
) -> None:
    found, url = holder(name, key)
    other = signed_in(make_member(key.workspace, Role.OWNER))
    late = {"daily_limit_nusd": "9", "timezone": "UTC"} | seen_on(other, url)

    visitor.post(url, BUDGETS | seen_on(visitor, url) | {"timezone": "UTC"})
    answer = other.post(url, late)

    found.refresh_from_db()
    assert answer.status_code == 409
    assert '<a href="">reload the page</a>' in answer.content.decode()
    assert (found.daily_limit_nusd, found.monthly_limit_nusd) == (5 * 10**9, 70_500_000_000)


@pytest.mark.parametrize("amount", ["", "0", "-1", "1,50", "much"])
def test_a_raise_that_cannot_be_taken_says_why(
    visitor: Visitor, workspace: Workspace, amount: str
) -> None:
    set_spending_limits(workspace, limits={"daily_limit_nusd": 5}, actor=ACTOR)
    url = path_of("settings-budget")

    answer = visitor.post(url, {"do": "raise", "period": "day", "amount_nusd": amount, "until": ""})

    assert answer.status_code == 422
    assert answer.context["raise_form"].errors.keys() >= {"amount_nusd"}
    workspace.refresh_from_db()
    assert raises_of(workspace) == []


def test_what_is_spent_and_left_is_shown(visitor: Visitor, key: ApiKey) -> None:
    set_limits(key, limits={"weekly_limit_nusd": 3 * 10**9}, actor=ACTOR)
    set_timezone(key.workspace, timezone="Asia/Kathmandu", actor=ACTOR)

    page = visitor.get(path_of("key-budget", key.pk))

    week = page.context["spending"][1]
    assert (week.spent_nusd, week.left_nusd) == (0, 3 * 10**9)
    assert "begin in Asia/Kathmandu" in page.content.decode()


def test_members_see_their_own_budget_and_no_form(member: Membership) -> None:
    set_spending_limits(member, limits={"daily_limit_nusd": 5 * 10**9}, actor=ACTOR)
    own = signed_in(member.user)
    url = path_of("member-budget", member.pk)

    page = own.get(url)
    answer = own.post(url, BUDGETS | {"daily_limit_nusd": "500"})

    assert page.status_code == 200
    assert page.context["form"] is None
    assert page.context["raise_form"] is None
    assert answer.status_code == 403
    other = Membership.objects.get(user=make_member(member.workspace, Role.OWNER))
    assert own.get(path_of("member-budget", other.pk)).status_code == 403


def test_an_admin_lifts_neither_their_own_budget_nor_an_owners(workspace: Workspace) -> None:
    owner = make_member(workspace, Role.OWNER)
    admin = make_member(workspace, Role.ADMIN)
    client = signed_in(admin)
    for person in (owner, admin):
        held = Membership.objects.get(user=person)
        answer = client.post(path_of("member-budget", held.pk), BUDGETS)
        held.refresh_from_db()
        assert answer.status_code == 403
        assert held.daily_limit_nusd is None


def test_a_revoked_key_has_no_budgets_to_raise(visitor: Visitor, key: ApiKey) -> None:
    ApiKey.objects.filter(pk=key.pk).update(revoked_at=datetime.now(UTC))

    answer = visitor.post(path_of("key-budget", key.pk), BUDGETS)

    assert answer.status_code == 302
    key.refresh_from_db()
    assert key.daily_limit_nusd is None


def test_the_page_of_limits_lists_budgets_of_all_and_links_what_one_may_change(
    visitor: Visitor, key: ApiKey, member: Membership
) -> None:
    workspace = key.workspace
    until = timezone.now() + timedelta(days=2)
    set_spending_limits(workspace, limits={"weekly_limit_nusd": 10**9}, actor=ACTOR)
    set_spending_limits(member, limits={"daily_limit_nusd": 5 * 10**9}, actor=ACTOR)
    set_limits(key, limits={"total_limit_nusd": 3 * 10**9}, actor=ACTOR)
    raise_budget(member, period="day", amount_nusd=10**9, until=until, actor=ACTOR)
    make_key(workspace, label="Without")

    def rows(client: Visitor, query: str = "") -> list[tuple[str, list[str], bool]]:
        found = client.get(path_of("limit-list"), {"q": query}).context["budgets"].items
        return [(row.holder, row.words, bool(row.url)) for row in found]

    of_member = (member.user.email, ["$5.00 per day"])
    of_workspace, of_key = ("Workspace", ["$1.00 per week"]), (key.label, ["$3.00 in total"])
    everything = [of_workspace, of_member, of_key]
    assert rows(visitor) == [(*row, True) for row in everything]
    assert rows(visitor, member.user.email[:6]) == [(*of_member, True)]
    own = rows(signed_in(member.user))
    assert own == [(*of_workspace, False), (*of_member, True), (*of_key, False)]
    page = visitor.get(path_of("limit-list")).content.decode()
    assert "Daily by" in page


def test_the_page_of_a_key_says_which_other_budgets_its_calls_are_charged_to(
    visitor: Visitor, key: ApiKey, member: Membership
) -> None:
    set_spending_limits(key.workspace, limits={"weekly_limit_nusd": 10**9}, actor=ACTOR)
    set_spending_limits(member, limits={"daily_limit_nusd": 5 * 10**9}, actor=ACTOR)

    shown = visitor.get(path_of("key-edit", key.pk)).context["budgets"]

    assert [(one.words, one.holder) for one in shown] == [
        ("$1.00 per week", "Workspace"),
        ("$5.00 per day", member.user.email),
    ]


def test_members_see_all_budgets_that_bind_them_on_the_overview(
    visitor: Visitor, key: ApiKey, member: Membership
) -> None:
    set_spending_limits(key.workspace, limits={"weekly_limit_nusd": 10**9}, actor=ACTOR)
    set_spending_limits(member, limits={"daily_limit_nusd": 5 * 10**9}, actor=ACTOR)
    set_limits(key, limits={"total_limit_nusd": 3 * 10**9}, actor=ACTOR)

    of_member = signed_in(member.user).get("/").context["budgets"]
    of_owner = visitor.get("/").context["budgets"]

    assert [(one.title, one.words, len(one.rows)) for one in of_member] == [
        ("All your keys", [], 1),
        ("Workspace", ["$1.00 per week"], 0),
        (key.label, [], 1),
    ]
    assert [(one.title, one.words, len(one.rows)) for one in of_owner] == [("Workspace", [], 1)]
