"""What pages say in sum is what the calls say one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest_django import DjangoDbBlocker

from accounts.models import Workspace
from gateway.models import CallRecord, LatencyRollup
from gateway.selectors import usage
from gateway.selectors.periods import Period, named_period, read_period
from gateway.selectors.usage import FAILED_STATUSES, Totals
from gateway.selectors.visible import Visible
from gateway.services.rolling_up import roll_up
from keys.models import ApiKey
from tests.dashboard.demo_data import make_demo_data
from tests.factories import make_workspace
from tests.support.database import rows_of_a_module

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 18, 15, 7, tzinfo=UTC)
QUARTERS = 3 * 96
# Nothing is written by these tests; and no clock (tests.conftest).
SUPPRESSED = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


@pytest.fixture(scope="module", params=["quarters alone", "half added up", "all added up"])
def workspace_id(
    request: pytest.FixtureRequest, django_db_setup: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[UUID]:
    """Three days of calls; of which totals of hours and days there are, must make no difference."""
    with rows_of_a_module(django_db_blocker):
        workspace = make_workspace()
        make_demo_data(workspace, days=3, calls_per_day=300, now=NOW)
        make_demo_data(make_workspace("Other"), days=3, calls_per_day=30, now=NOW)
        if request.param != "quarters alone":
            roll_up(now=NOW if request.param == "all added up" else NOW - timedelta(hours=30))
        yield workspace.pk


@pytest.fixture
def workspace(workspace_id: UUID) -> Workspace:
    return Workspace.objects.get(pk=workspace_id)


periods = st.builds(
    lambda start, length: read_period(
        {
            "from": (NOW - timedelta(minutes=15 * start)).isoformat(),
            "to": (NOW - timedelta(minutes=15 * max(0, start - length))).isoformat(),
        },
        now=NOW,
    ),
    start=st.integers(1, QUARTERS + 20),
    length=st.integers(1, QUARTERS),
)
whole_days = st.sampled_from(["1h", "today", "24h", "7d", "30d"]).map(
    lambda name: named_period(name, now=NOW)
)


def ended(visible: Visible, period: Period) -> list[CallRecord]:
    calls = CallRecord.objects.filter(
        workspace_id=visible.workspace_id,
        created_at__gte=period.starts_at,
        created_at__lt=period.ends_at,
    ).exclude(status="in_progress")
    own = visible.key_ids
    return [call for call in calls if own is None or call.key_id in own]


def summed(calls: list[CallRecord]) -> Totals:
    return Totals(
        calls_by_status=Counter(call.status for call in calls),
        prompt_tokens=sum(call.prompt_tokens for call in calls),
        completion_tokens=sum(call.completion_tokens for call in calls),
        charge_nusd=sum(call.charge_nusd for call in calls),
        absorbed_nusd=sum(call.absorbed_nusd for call in calls),
    )


@settings(max_examples=40, suppress_health_check=SUPPRESSED)
@given(period=periods | whole_days, keys=st.sampled_from([None, 0, 2]))
def test_every_grouping_adds_up_to_the_calls(
    workspace: Workspace, period: Period, keys: int | None
) -> None:
    ids = list(ApiKey.objects.filter(workspace=workspace).values_list("id", flat=True))
    visible = Visible(workspace.id, None if keys is None else tuple(ids[:keys]))

    calls = ended(visible, period)

    whole = summed(calls)
    assert usage.totals(visible, period) == whole
    steps, models = usage.totals_by_step_and_model(visible, period)
    assert len(steps) == period.steps
    assert usage.merged(steps) == whole
    assert models == {
        model: summed([call for call in calls if call.model == model])
        for model in {call.model for call in calls}
    }
    assert usage.totals_by_key(visible, period) == {
        key_id: summed([call for call in calls if call.key_id == key_id])
        for key_id in {call.key_id for call in calls}
    }


@settings(max_examples=20, suppress_health_check=SUPPRESSED)
@given(period=periods | whole_days)
def test_each_step_holds_the_calls_that_began_in_it(workspace: Workspace, period: Period) -> None:
    visible = Visible(workspace.id)
    starts = period.step_starts()
    calls = ended(visible, period)

    steps, _ = usage.totals_by_step_and_model(visible, period)

    for start, step in zip(starts, steps, strict=True):
        end = start + timedelta(seconds=period.step_s)
        assert step == summed([call for call in calls if start <= call.created_at < end])


@pytest.mark.parametrize("share", [0.5, 0.95])
def test_percentiles_are_within_a_bucket_of_those_of_the_calls(
    workspace: Workspace, share: float
) -> None:
    visible, period = Visible(workspace.id), named_period("7d", now=NOW)
    ok = [call for call in ended(visible, period) if call.status == "ok"]
    totals = sorted(call.total_us for call in ok)
    exact_us = totals[max(0, -int(-share * len(totals) // 1) - 1)]

    found = usage.spans(visible, period).whole[LatencyRollup.Measure.TOTAL]

    assert usage.percentiles(visible, period) == usage.spans(visible, period).whole
    found_us = found.p50_us if share == 0.5 else found.p95_us
    assert found_us == pytest.approx(exact_us, rel=0.06)


def test_percentiles_by_step_know_where_no_call_ended(workspace: Workspace) -> None:
    period = named_period("30d", now=NOW)

    steps = usage.spans(Visible(workspace.id), period).by_step["total"]

    assert [step.p50_us is not None for step in steps] == [False] * 26 + [True] * 4


def test_durations_are_kept_from_those_who_see_only_some_keys(workspace: Workspace) -> None:
    key_id = ApiKey.objects.filter(workspace=workspace).values_list("id", flat=True)[0]

    found = usage.spans(Visible(workspace.id, (key_id,)), named_period("7d", now=NOW))

    assert {each.p50_us for each in found.whole.values()} == {None}


def test_the_top_keys_are_the_costliest_ones(workspace: Workspace) -> None:
    visible, period = Visible(workspace.id), named_period("7d", now=NOW)

    two = usage.totals_by_key(visible, period, limit=2)

    everyone = usage.totals_by_key(visible, period)
    assert list(two) == sorted(everyone, key=lambda key: -everyone[key].charge_nusd)[:2]


def test_the_period_before_ends_at_the_same_moment_in_it(workspace: Workspace) -> None:
    now = NOW.replace(minute=0)
    visible, period = Visible(workspace.id), named_period("24h", now=now)

    before = usage.totals_before(visible, period)

    assert before == summed(ended(visible, period.previous()))
    assert before.calls > 0


def test_a_quarter_of_an_hour_that_is_cut_counts_by_its_share(workspace: Workspace) -> None:
    visible = Visible(workspace.id)
    whole = usage.totals_before(visible, named_period("24h", now=NOW.replace(minute=15)))
    none = usage.totals_before(visible, named_period("24h", now=NOW.replace(minute=0)))

    half = usage.totals_before(visible, named_period("24h", now=NOW.replace(minute=7, second=30)))

    middle = (whole.prompt_tokens + none.prompt_tokens) / 2
    assert half.prompt_tokens == pytest.approx(middle, abs=len(CallRecord.Status))


def test_the_error_share_counts_what_was_refused_failed_or_aborted() -> None:
    totals = Totals(calls_by_status=Counter(ok=6, cancelled=1, refused=1, upstream_error=2))

    assert {"refused", "upstream_error", "platform_aborted"} == FAILED_STATUSES
    assert totals.error_share == 0.3
    assert Totals().error_share is None


def test_a_change_is_told_only_against_something() -> None:
    assert usage.change(150, 100) == 0.5
    assert usage.change(150, 0) is None
    assert usage.change(None, 100) is None


def test_totals_never_read_the_call_table(workspace: Workspace) -> None:
    visible, period = Visible(workspace.id), named_period("7d", now=NOW)

    with CaptureQueriesContext(connection) as queries:
        usage.totals_by_step_and_model(visible, period)
        usage.totals_before(visible, period)
        usage.totals_by_key(visible, period, limit=6)
        usage.spans(visible, period)

    assert len(queries) > 4
    assert not [query for query in queries if "callrecord" in query["sql"]]
