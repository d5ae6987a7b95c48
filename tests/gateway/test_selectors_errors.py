"""Errors of a period: what the totals say is what the calls say, and since when."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Workspace
from dashboard.overview.error_rows import error_tables, find_spike
from gateway.models import CallRecord, ErrorMark, KeyErrors, WorkspaceErrors
from gateway.selectors.errors import error_counts, sum_errors
from gateway.selectors.periods import Period, named_period, read_period
from gateway.selectors.usage import FAILED_STATUSES
from gateway.selectors.visible import Visible
from gateway.services.error_backfill import backfill_errors
from keys.models import ApiKey
from tests.dashboard.demo_data import make_demo_data
from tests.factories import make_workspace

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 18, 15, 7, tzinfo=UTC)
PERIODS = [
    *(named_period(name, now=NOW) for name in ("1h", "today", "24h", "7d", "30d")),
    read_period({"from": "2026-11-16T13:15", "to": "2026-11-18T02:30"}, now=NOW),
]


@pytest.fixture
def workspace() -> Workspace:
    workspace = make_workspace()
    make_demo_data(workspace, days=3, calls_per_day=500, now=NOW)
    make_demo_data(make_workspace("Other"), days=1, calls_per_day=100, now=NOW)
    return workspace


Seen = dict[tuple[str, str, str], tuple[int, datetime, datetime]]


def plainly(visible: Visible, period: Period) -> Seen:
    """The same question asked of the calls."""
    calls = CallRecord.objects.filter(
        workspace_id=visible.workspace_id,
        status__in=FAILED_STATUSES,
        created_at__gte=period.starts_at,
        created_at__lt=period.ends_at,
    )
    groups: dict[tuple[str, str, str], list[CallRecord]] = {}
    for call in calls:
        if visible.key_ids is None or call.key_id in visible.key_ids:
            group = (call.provider, call.status, call.error_code)
            groups.setdefault(group, []).append(call)
    return {
        group: (
            sum(call.counted_calls for call in found),
            min(call.created_at for call in found),
            max(call.created_at for call in found),
        )
        for group, found in groups.items()
    }


def by_totals(visible: Visible, period: Period) -> Seen:
    groups: dict[tuple[str, str, str], list[Any]] = {}
    for each in error_counts(visible, period):
        groups.setdefault((each.provider, each.status, each.code), []).append(each)
    sums = {group: sum_errors(found) for group, found in groups.items()}
    return {group: (each.calls, each.first_at, each.last_at) for group, each in sums.items()}


@pytest.mark.parametrize("whose", ["everybody", "one key"])
def test_errors_by_provider_and_code_are_those_of_the_calls(
    workspace: Workspace, whose: str
) -> None:
    key = ApiKey.objects.filter(workspace=workspace).order_by("id")[0]
    visible = Visible(workspace.id, (key.id,) if whose == "one key" else None)

    for period in PERIODS:
        assert by_totals(visible, period) == plainly(visible, period), period
    assert len(by_totals(visible, PERIODS[-2])) > 3


def test_errors_of_older_calls_are_added_up_in_steps_while_calls_are_made(
    workspace: Workspace,
) -> None:
    visible, period = Visible(workspace.id), named_period("7d", now=NOW)
    other = make_workspace("Later")
    KeyErrors.objects.all().delete()
    WorkspaceErrors.objects.all().delete()
    mark = ErrorMark.objects.create(since=NOW.replace(minute=0) + timedelta(hours=1))

    assert error_tables(visible, period).known_since == mark.since
    hours = backfill_errors(work_s=0)
    assert hours == 1
    # The drain brings calls of hours before the mark and behind it.
    make_demo_data(other, days=1, calls_per_day=500, now=NOW)
    assert backfill_errors() > 60

    assert ErrorMark.objects.count() == 0
    assert error_tables(visible, period).known_since is None
    for place in (visible, Visible(other.id)):
        assert by_totals(place, period) == plainly(place, period)


def test_the_pages_errors_are_read_from_totals_alone(workspace: Workspace) -> None:
    with CaptureQueriesContext(connection) as queries:
        tables = error_tables(Visible(workspace.id), named_period("30d", now=NOW))

    assert len(queries) < 10
    assert not [query for query in queries if "callrecord" in query["sql"]]
    calls = CallRecord.objects.filter(workspace_id=workspace.id)
    failed = calls.filter(status__in=FAILED_STATUSES).count()
    theirs = Counter(calls.filter(status="upstream_error").values_list("provider", flat=True))
    shown = {row.label: row.calls for row in tables.by_provider}
    assert theirs.items() <= shown.items()
    assert sum(shown.values()) == sum(row.calls for row in tables.by_code) == failed


@pytest.mark.parametrize(
    ("steps", "begins"),
    [
        ([], None),
        ([0, 0, 0], None),
        ([0, 0, 4, 0], None),
        ([1, 0, 2, 9, 30, 28, 3, 0], 3),
        ([10, 11, 10, 12, 10], None),
        ([10, 11, 10, 90, 10], 3),
        ([50, 0, 0, 0, 0], 0),
    ],
)
def test_a_spike_begins_where_there_are_many_more_than_usual(
    steps: list[int], begins: int | None
) -> None:
    assert find_spike(steps) == begins
