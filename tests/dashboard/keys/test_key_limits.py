"""The limits of a key on its page: set, refused, taken away, and how much of them is spent."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.models import AuditEvent, Role, Workspace
from dashboard.forms.submit_once import new_form_token
from dashboard.keys.forms import rules_version
from gateway.selectors.spending import total_of
from keys.models import ApiKey
from keys.services import set_limits
from tests.dashboard.demo_data import make_demo_data
from tests.dashboard.visitors import key_form, signed_in
from tests.factories import ACTOR, make_key, make_member, make_workspace

pytestmark = pytest.mark.django_db

LIMITS = {"max_requests_per_minute": "60", "burst": "120", "daily_limit_nusd": "$1,000.50"}


@pytest.fixture
def workspace() -> Workspace:
    return make_workspace()


def post_new(workspace: Workspace, **fields: Any) -> Any:
    client = signed_in(make_member(workspace))
    return client.post("/keys/new", key_form(token=new_form_token()) | fields)


def test_a_key_is_made_with_limits(workspace: Workspace) -> None:
    answer = post_new(workspace, **LIMITS, max_concurrent="5")

    key = ApiKey.objects.get()
    assert answer.status_code == 201
    assert (key.max_requests_per_minute, key.burst, key.max_concurrent) == (60, 120, 5)
    assert key.daily_limit_nusd == 1_000_500_000_000
    assert (key.monthly_limit_nusd, key.total_limit_nusd) == (None, None)


@pytest.mark.parametrize(
    ("field", "fields"),
    [
        ("max_requests_per_minute", {"max_requests_per_minute": "0"}),
        ("max_requests_per_minute", {"max_requests_per_minute": "1.5"}),
        ("max_requests_per_minute", {"max_requests_per_minute": "1000001"}),
        ("burst", {"burst": "5"}),
        ("burst", {"max_requests_per_minute": "5", "burst": "-1"}),
        ("max_concurrent", {"max_concurrent": "many"}),
        ("daily_limit_nusd", {"daily_limit_nusd": "0"}),
        ("monthly_limit_nusd", {"monthly_limit_nusd": "-3"}),
        ("total_limit_nusd", {"total_limit_nusd": "1e3"}),
        ("total_limit_nusd", {"total_limit_nusd": "0.0000000001"}),
    ],
)
def test_a_limit_that_cannot_be_taken_is_named_and_nothing_is_made(
    workspace: Workspace, field: str, fields: dict[str, str]
) -> None:
    answer = post_new(workspace, **fields)

    assert answer.status_code == 422
    assert field in answer.context["form"].errors
    assert b'<details class="more" open' in answer.content
    assert not ApiKey.objects.exists()


def test_limits_are_changed_and_taken_away_with_the_rules(workspace: Workspace) -> None:
    key, member = make_key(workspace).key, make_member(workspace)
    client, page = signed_in(member), f"/keys/{key.pk}"
    client.post(page, key_form(**LIMITS, seen=rules_version(key)))
    key.refresh_from_db()
    assert (key.burst, key.daily_limit_nusd) == (120, 1_000_500_000_000)
    shown = client.get(page).content.decode()

    client.post(page, key_form(seen=rules_version(key)))

    key.refresh_from_db()
    assert 'value="1000.50"' in shown
    assert (key.max_requests_per_minute, key.burst, key.daily_limit_nusd) == (None, None, None)
    event = AuditEvent.objects.filter(action="key.limits").latest("pk")
    assert event.actor == member.email
    assert event.details["burst"] == [120, None]


def test_a_key_page_shows_what_was_spent_of_what_may_be(workspace: Workspace) -> None:
    key = make_demo_data(workspace, days=1, calls_per_day=60)[0]
    total_nusd = total_of(key.pk)
    set_limits(key, limits={"total_limit_nusd": total_nusd}, actor=ACTOR)

    page = signed_in(make_member(workspace)).get(f"/keys/{key.pk}")

    total = page.context["spending"][-1]
    assert (total.spent_nusd, total.limit_nusd) == (total_nusd, total_nusd)
    assert (total.share, total.is_used_up) == ("100.0%", True)
    assert b"Limit reached" in page.content
    assert b"Resets <" not in page.content
    assert b"Reset total" in page.content


def test_a_limit_on_a_day_says_when_the_next_one_begins(workspace: Workspace) -> None:
    key = make_key(workspace).key
    set_limits(key, limits={"daily_limit_nusd": 5}, actor=ACTOR)

    page = signed_in(make_member(workspace)).get(f"/keys/{key.pk}")

    assert page.content.count(b"Resets <") == 1


def test_a_total_is_set_back_by_whoever_manages_keys(workspace: Workspace) -> None:
    key = make_demo_data(workspace, days=1, calls_per_day=60)[0]
    total_nusd = total_of(key.pk)
    set_limits(key, limits={"total_limit_nusd": 5}, actor=ACTOR)
    member, address = make_member(workspace), f"/keys/{key.pk}/reset-total"

    refused = signed_in(make_member(workspace, Role.VIEWER)).post(address).status_code
    answer = signed_in(member).post(address, follow=True)

    key.refresh_from_db()
    assert refused == 403
    assert key.total_baseline_nusd == total_nusd
    assert answer.context["spending"][-1].spent_nusd == 0
    assert b"Reset total" not in answer.content
    event = AuditEvent.objects.get(action="key.reset_total")
    assert (event.actor, event.details) == (member.email, {"spent_nusd": [total_nusd, 0]})


def test_who_may_only_look_sees_the_limits(workspace: Workspace) -> None:
    key = make_key(workspace).key
    limits = {"max_requests_per_minute": 60, "burst": 120, "max_concurrent": 4}
    set_limits(key, limits=limits, actor=ACTOR)

    page = signed_in(make_member(workspace, Role.VIEWER)).get(f"/keys/{key.pk}").content.decode()

    assert "60, burst 120" in page
    assert "Concurrent requests</dt><dd>4<" in page
