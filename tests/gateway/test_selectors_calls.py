"""Lists of calls: every call once and in order, whatever the filter, by way of an index."""

from __future__ import annotations

import itertools
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models import Q
from pytest_django import DjangoDbBlocker

from accounts.models import Role, Workspace
from gateway.models import CallRecord
from gateway.selectors import call_filters
from gateway.selectors.call_filters import FAILED, CallFilters
from gateway.selectors.calls import SCAN_ROWS, call_page, find_body, find_call
from gateway.selectors.id_times import first_id_at, moment_of
from gateway.selectors.key_use import last_calls
from gateway.selectors.money import held_nusd
from gateway.selectors.usage import FAILED_STATUSES
from gateway.selectors.visible import Visible, visible_to
from keys.models import ApiKey
from tests.dashboard.demo_data import make_demo_data
from tests.factories import make_key, make_member, make_workspace
from tests.support.database import rows_of_a_module
from tests.support.proofs import sample

pytestmark = pytest.mark.django_db
ASKED = "gateway_call_not_as_asked"
NOW = datetime(2026, 11, 18, 15, 7, tzinfo=UTC)


@pytest.fixture(scope="module")
def workspace_id(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[uuid.UUID]:
    with rows_of_a_module(django_db_blocker):
        workspace = make_workspace()
        make_demo_data(workspace, days=1, calls_per_day=260, now=NOW)
        yield workspace.pk


@pytest.fixture
def workspace(workspace_id: uuid.UUID) -> Workspace:
    return Workspace.objects.get(pk=workspace_id)


def combinations() -> Iterator[dict[str, Any]]:
    """Every combination of the filters that a page offers, key left to the test."""
    choices: dict[str, tuple[Any, ...]] = {
        "status": ("", "ok", "cancelled", FAILED),
        "model": ("", "gpt-5-mini"),
        "provider": ("", "openai"),
        "streamed": (None, True),
        "fell_back": (None, True, False),
        "error_code": ("", "provider_timeout"),
        "min_total_us": (0, 900_000),
        "starts_at": (None, NOW - timedelta(hours=9)),
    }
    for values in itertools.product(*choices.values()):
        yield dict(zip(choices, values, strict=True))


def expected(visible: Visible, filters: CallFilters) -> list[uuid.UUID]:
    """The same question asked plainly."""
    calls = CallRecord.objects.filter(workspace_id=visible.workspace_id)
    if visible.key_ids is not None:
        calls = calls.filter(key_id__in=visible.key_ids)
    if filters.key_id:
        calls = calls.filter(key_id=filters.key_id)
    if filters.status:
        calls = calls.filter(
            status__in=FAILED_STATUSES if filters.status == FAILED else [filters.status]
        )
    if filters.model:
        calls = calls.filter(Q(model=filters.model) | Q(requested_model=filters.model))
    if filters.provider:
        calls = calls.filter(provider=filters.provider)
    if filters.streamed is not None:
        calls = calls.filter(streamed=filters.streamed)
    if filters.fell_back is not None:
        calls = (
            calls.exclude(fallback_from="") if filters.fell_back else calls.filter(fallback_from="")
        )
    if filters.error_code:
        calls = calls.filter(error_code=filters.error_code)
    if filters.starts_at:
        calls = calls.filter(id__gte=first_id_at(filters.starts_at))
    calls = calls.filter(total_us__gte=filters.min_total_us)
    return list(calls.order_by("-id").values_list("id", flat=True))


def walk(visible: Visible, filters: CallFilters, **how: Any) -> list[uuid.UUID]:
    """Follow the links to older pages to the end."""
    found: list[uuid.UUID] = []
    page = call_page(visible, filters, **how)
    for _ in range(2_000):
        found += [call.id for call in page.calls]
        if page.older is None:
            return found
        page = call_page(visible, filters, before=page.older, **how)
    raise AssertionError("The list does not end.")


@pytest.mark.proof
@pytest.mark.parametrize("scan_rows", [60, SCAN_ROWS])
@pytest.mark.parametrize("whose", ["everybody", "one key", "own", "many own"])
def test_older_pages_show_every_call_once_and_in_order(
    workspace: Workspace, whose: str, scan_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = list(ApiKey.objects.filter(workspace=workspace).order_by("id"))
    own = tuple(key.id for key in keys[:2])
    visible = Visible(workspace.id, own if "own" in whose else None)
    if whose == "many own":
        monkeypatch.setattr(call_filters, "MOST_KEY_BRANCHES", 1)
    key_id = keys[0].id if whose == "one key" else None

    # Short: 7 and 11 divide no number of choices, so that each choice meets each other one.
    for values in sample(combinations(), step=7 if scan_rows == 60 else 11):
        filters = CallFilters(key_id=key_id, **values)

        assert walk(visible, filters, size=80, scan_rows=scan_rows) == expected(visible, filters)


@pytest.mark.parametrize("status", ["", FAILED, "ok"])
def test_newer_pages_lead_back_over_the_same_calls(workspace: Workspace, status: str) -> None:
    visible, filters = Visible(workspace.id), CallFilters(status=status)
    everything = expected(visible, filters)
    back: list[uuid.UUID] = []

    page = call_page(visible, filters, after=everything[-1], size=7)
    while True:
        back = [call.id for call in page.calls] + back
        if page.newer is None:
            break
        page = call_page(visible, filters, after=page.newer, size=7)

    assert back == everything[:-1]


def test_a_search_that_stops_short_says_how_far_it_looked(workspace: Workspace) -> None:
    visible = Visible(workspace.id)

    page = call_page(visible, CallFilters(error_code="no_such_code"), scan_rows=20)

    twentieth = expected(visible, CallFilters())[19]
    assert (page.calls, page.older) == ([], twentieth)
    assert page.searched_to == moment_of(twentieth)


@pytest.mark.proof
def test_every_combination_of_filters_is_answered_from_an_index(workspace: Workspace) -> None:
    key_id = ApiKey.objects.filter(workspace=workspace).values_list("id", flat=True)[0]
    place = expected(Visible(workspace.id), CallFilters())[30]

    with explained() as plans:
        for values in sample(combinations(), step=5):
            for whose in (None, key_id):
                filters = CallFilters(key_id=whose, **values)
                call_page(Visible(workspace.id), filters, before=place)
                call_page(Visible(workspace.id), filters, after=place)
        held_nusd(workspace.id)
        last_calls(ApiKey.objects.filter(id=key_id))

    assert len(plans) > 300
    for plan in plans:
        assert not re.search(r"\bSCAN (gateway_callrecord|U0)\b|TEMP B-TREE", plan), plan


@pytest.mark.parametrize(
    ("filters", "index"),
    [
        ({}, "gateway_call_by_workspace"),
        ({"status": FAILED}, "gateway_call_not_ok"),
        ({"status": "cancelled", "model": "gpt-5-mini"}, f"gateway_call_model_not_ok|{ASKED}"),
        ({"status": "refused", "model": "gpt-5-mini"}, ASKED),
        ({"model": "gpt-5-mini", "streamed": True}, f"gateway_call_by_model|{ASKED}"),
        ({"status": "ok", "error_code": "x"}, "gateway_call_by_workspace"),
    ],
)
def test_the_index_that_narrows_most_is_the_one_that_is_read(
    workspace: Workspace, filters: dict[str, Any], index: str
) -> None:
    visible = Visible(workspace.id)
    place = expected(visible, CallFilters())[30]

    with explained() as plans:
        call_page(visible, CallFilters(starts_at=NOW - timedelta(days=1), **filters), before=place)

    bounds = re.escape("id>? AND id<?")
    assert plans
    assert all(re.search(f"INDEX ({index}) .*{bounds}", plan) for plan in plans), plans


def test_the_newest_call_of_a_callers_id_is_read_from_its_index(workspace: Workspace) -> None:
    ids = expected(Visible(workspace.id), CallFilters())
    CallRecord.objects.filter(id__in=ids[20:]).update(client_request_id="nightly")

    with explained() as plans:
        found = find_call(Visible(workspace.id), "nightly")
        find_call(Visible(workspace.id), "nobody")

    assert found is not None
    assert found.id == ids[20]
    index = "INDEX gateway_call_by_client_id (workspace_id=? AND client_request_id=?)"
    assert plans == [f"SEARCH gateway_callrecord USING {index}"] * 2


def test_calls_of_other_workspaces_and_keys_are_not_found(workspace: Workspace) -> None:
    other = make_workspace("Other")
    stranger_key = make_demo_data(other, days=1, calls_per_day=40, now=NOW)[0]
    call_id = expected(Visible(other.id), CallFilters(key_id=stranger_key.id))[0]

    by_key = call_page(Visible(workspace.id), CallFilters(key_id=stranger_key.id))

    assert by_key.calls == []
    assert find_call(Visible(workspace.id), str(call_id)) is None
    assert find_call(Visible(other.id, ()), str(call_id)) is None
    assert find_call(Visible(other.id), str(call_id)) is not None


def test_a_developer_sees_the_calls_of_the_keys_they_made(workspace: Workspace) -> None:
    developer = make_member(workspace, Role.DEVELOPER)
    owner = make_member(workspace, Role.OWNER)
    own = make_key(workspace, created_by=developer).key

    assert visible_to(developer, workspace) == Visible(workspace.id, (own.id,))
    assert visible_to(owner, workspace) == Visible(workspace.id)


def test_a_body_is_found_only_where_one_was_stored(workspace: Workspace) -> None:
    call = CallRecord.objects.filter(status="ok").latest("id")

    assert find_body(call) is None


def test_the_money_held_is_that_of_the_calls_in_progress(workspace: Workspace) -> None:
    running = CallRecord.objects.filter(status="in_progress")

    assert running.count() == 4
    assert held_nusd(workspace.id) == sum(call.hold_nusd for call in running) > 0
    assert held_nusd(uuid.uuid4()) == 0


@contextmanager
def explained() -> Iterator[list[str]]:
    """Collect the plan of every statement that reads the call table."""
    plans: list[str] = []

    def explain(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith("SELECT") and "gateway_callrecord" in sql:
            execute(f"EXPLAIN QUERY PLAN {sql}", params, many, context)
            plans.append("; ".join(row[3] for row in context["cursor"].fetchall()))
        return execute(sql, params, many, context)

    if connection.vendor != "sqlite":
        pytest.skip("Reads the plans of SQLite.")
    with connection.execute_wrapper(explain):
        yield plans
