"""The overview: figures that agree with the calls, for those who may see them."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Role, Workspace
from dashboard.overview.views import ERRORS_SHOWN
from gateway.models import CallRecord
from gateway.selectors.usage import FAILED_STATUSES
from keys.models import ApiKey
from tests.dashboard.demo_data import make_demo_data
from tests.dashboard.visitors import path_of, signed_in
from tests.factories import make_key, make_member, make_workspace

pytestmark = pytest.mark.django_db
URL = "/"


@pytest.fixture
def workspace() -> Workspace:
    workspace = make_workspace("Northwind")
    make_demo_data(workspace, days=2, calls_per_day=150)
    return workspace


def as_somebody(workspace: Workspace, role: str) -> Client:
    return signed_in(make_member(workspace, role))


@pytest.mark.parametrize("role", [Role.OWNER, Role.ADMIN, Role.BILLING, Role.VIEWER])
def test_who_may_see_usage_sees_all_of_it(workspace: Workspace, role: str) -> None:
    page = as_somebody(workspace, role).get(URL, {"period": "7d"})

    calls = CallRecord.objects.exclude(status="in_progress").count()
    overview = page.context["overview"]
    assert page.status_code == 200
    assert overview.tiles[0].value == f"{calls:,}"
    assert [tile.label for tile in overview.span_tiles] == [
        "Total time, p50",
        "Added time, p50",
        "First token, p50",
    ]
    failed = CallRecord.objects.filter(status__in=FAILED_STATUSES).count()
    assert len(page.context["tables"].failed.items) == min(failed, ERRORS_SHOWN) > 0


def test_a_developer_sees_their_own_keys_alone(workspace: Workspace) -> None:
    client = as_somebody(workspace, Role.DEVELOPER)

    page = client.get(URL, {"period": "7d"})

    assert not page.context["overview"].has_calls
    assert b"Checkout assistant" not in page.content


def test_a_developer_sees_what_their_key_has_done(workspace: Workspace) -> None:
    client = as_somebody(workspace, Role.DEVELOPER)
    key = ApiKey.objects.get(label="Search ranking")
    key.created_by_id = int(client.session["_auth_user_id"])
    key.save()

    page = client.get(URL, {"period": "7d"})

    own = CallRecord.objects.filter(key_id=key.id)
    assert page.context["overview"].tiles[0].value == f"{own.count():,}"
    assert page.context["overview"].span_tiles == []
    assert [row.label for row in page.context["overview"].keys] == ["Search ranking"]


def test_a_stranger_sees_nothing(workspace: Workspace) -> None:
    page = as_somebody(make_workspace("Other"), Role.OWNER).get(URL, {"period": "7d"})

    assert b"Checkout assistant" not in page.content
    assert not page.context["overview"].has_calls


def test_who_is_signed_out_is_sent_to_sign_in(workspace: Workspace) -> None:
    page = Client().get(URL)

    assert page.status_code == 302
    assert page["Location"].startswith(reverse("account_login"))


@pytest.mark.parametrize(
    "query",
    ["period=1h", "period=today", "period=30d", "from=2026-01-01&to=2026-02-01", "period=x"],
)
def test_any_period_gives_a_page(workspace: Workspace, query: str) -> None:
    client = as_somebody(workspace, Role.OWNER)

    page = client.get(f"{URL}?{query}")

    assert page.status_code == 200
    assert b"style=" not in page.content


def test_htmx_gets_the_figures_and_history_the_page(workspace: Workspace) -> None:
    client = as_somebody(workspace, Role.OWNER)

    part = client.get(URL, headers={"HX-Request": "true"})
    whole = client.get(URL, headers={"HX-Request": "true", "HX-History-Restore-Request": "true"})

    assert b"<html" not in part.content
    assert b'id="overview"' in part.content
    assert b"<html" in whole.content
    assert "HX-Request" in part["Vary"]


def test_a_new_workspace_is_told_what_to_do_next() -> None:
    empty = make_workspace("Empty")
    make_key(empty)

    page = as_somebody(empty, Role.OWNER).get(URL)

    assert b"No calls in this period" in page.content
    assert path_of("key-list").encode() in page.content


@pytest.mark.parametrize(
    ("query", "heading"),
    [
        ("period=1h", "Last hour, rounded to 15 min"),
        ("period=24h", "Last 24 hours, rounded to 30 min"),
        ("period=7d", "Last 7 days, rounded to 3 h"),
        ("period=30d", "Last 30 days, rounded to whole days"),
        ("period=today", "Today"),
        ("from=2026-01-01&to=2026-02-01", "Chosen period"),
    ],
)
def test_the_heading_says_what_the_start_is_rounded_to(query: str, heading: str) -> None:
    page = as_somebody(make_workspace("Other"), Role.OWNER).get(f"{URL}?{query}")

    assert f"{heading}<span" in page.content.decode()
