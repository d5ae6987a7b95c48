"""Hours and days are added up while calls are made, and come to what the quarters come to."""

from __future__ import annotations

import time
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from accounts.models import Workspace
from dashboard.overview.figures import build_overview
from gateway.models import (
    KeyUsage,
    LatencyRollup,
    RollupMark,
    UsageRollup,
    WorkspaceLatency,
    WorkspaceUsage,
)
from gateway.selectors.periods import named_period
from gateway.selectors.spending import total_of
from gateway.selectors.usage_groups import usage_by
from gateway.selectors.visible import Visible
from gateway.services.proving import prove
from gateway.services.rolling_up import roll_up
from gateway.stores.process_stores import ProcessStores
from keys.models import ApiKey
from tests.dashboard.demo_data import make_demo_data
from tests.factories import make_workspace
from tests.money.office import KEY_ID, admitted, end, hold, make_rich, run_with_stores

pytestmark = pytest.mark.django_db(transaction=True)

HOUR_S = 3_600
LONGER = (KeyUsage, WorkspaceUsage, WorkspaceLatency)


def make_calls(folder: Path, workspace: Workspace, *ages_s: float) -> None:
    """Make a call of 100 nUSD that began each so many seconds ago and ends now."""

    async def work(stores: ProcessStores) -> None:
        for age_s in ages_s:
            held = await hold(stores, str(workspace.pk), 1_000)
            record = admitted(str(workspace.pk), held, at=time.time() - age_s)
            stores.records.admitted(record)
            end(stores, record, 100)

    run_with_stores(folder, work)


def test_calls_that_come_late_are_added_to_hours_and_days_at_once(tmp_path: Path) -> None:
    workspace, began_s = make_rich(100_000), time.time()
    make_calls(tmp_path, workspace, 60 * HOUR_S, 30 * HOUR_S, 3 * HOUR_S)
    assert roll_up() == 3
    assert prove().holds

    late_s = time.time() - began_s  # so that the same hours are meant
    make_calls(tmp_path, workspace, *(late_s + hours * HOUR_S for hours in (60, 48, 4, 0)))

    proof = prove()
    assert proof.breaks == []
    looked = {finding.id: finding.checked for finding in proof.findings}
    assert looked["I13d"] == 5, "an hour each, and one that two calls began in"
    before_the_mark = WorkspaceUsage.objects.filter(span_s=HOUR_S)
    assert sum(before_the_mark.values_list("calls", flat=True)) == 6
    assert total_of(uuid.UUID(KEY_ID)) == 700


def test_adding_up_goes_on_where_it_stopped(tmp_path: Path) -> None:
    workspace = make_rich(100_000)
    make_calls(tmp_path, workspace, 50 * HOUR_S, 26 * HOUR_S, 3 * HOUR_S)

    hours = 0
    while added := roll_up(work_s=0):
        assert added == 1, "no time is left after the first"
        hours += added
        assert prove().breaks == []

    assert hours == 3
    assert roll_up() == 0


TAMPERINGS = [
    ("I13d", "UPDATE gateway_keyusage SET calls = calls + 1 WHERE span_s = 3600"),
    ("I13d", "UPDATE gateway_keyusage SET charge_nusd = charge_nusd + 1 WHERE span_s = 86400"),
    ("I13e", "DELETE FROM gateway_workspaceusage WHERE span_s = 900"),
    ("I13e", "UPDATE gateway_workspaceusage SET status = 'partial' WHERE span_s = 86400"),
    ("I13f", "UPDATE gateway_workspacelatency SET calls = calls + 1 WHERE span_s = 900"),
    ("I13f", "UPDATE gateway_workspacelatency SET bucket = bucket + 1 WHERE span_s = 86400"),
    ("I13d", "UPDATE gateway_rollupmark SET until = '2020-01-01 00:00:00'"),
]


def test_tampering_with_longer_totals_is_found(tmp_path: Path) -> None:
    make_calls(tmp_path, make_rich(100_000), 60 * HOUR_S, 30 * HOUR_S)
    roll_up()

    for rule, tampering in TAMPERINGS:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(tampering)
            assert cursor.rowcount > 0, tampering
            broken = {finding.id for finding in prove().findings if finding.breaks}
            transaction.set_rollback(True)
        assert rule in broken, tampering


def test_pages_read_longer_totals_and_of_quarters_only_what_is_not_added_up_yet() -> None:
    # Of a working day: there are hours of weekends in which nobody calls.
    workspace, now = make_workspace(), datetime(2026, 11, 18, 15, 7, tzinfo=UTC)
    make_demo_data(workspace, days=3, calls_per_day=200, now=now)
    roll_up(now=now)
    mark = RollupMark.objects.get().until
    assert mark > now - timedelta(hours=3)
    visible, period = Visible(workspace.id), named_period("30d", now=now)
    key = ApiKey.objects.filter(workspace=workspace).order_by("id")[0]

    def look() -> tuple[object, ...]:
        by = ["member", "key", "day", "model"]
        used = usage_by(visible, start=now - timedelta(days=90), end=now, by=by)
        return build_overview(visible, period), used, total_of(key.pk)

    with CaptureQueriesContext(connection) as queries:
        before = look()
    assert not [query for query in queries if "callrecord" in query["sql"]]

    # Nothing behind the mark is read: with those rows gone, every figure stays.
    UsageRollup.objects.filter(starts_at__lt=mark).delete()
    LatencyRollup.objects.filter(starts_at__lt=mark).delete()
    assert look() == before
    for table in LONGER:
        table._default_manager.all().delete()
    assert look() != before
