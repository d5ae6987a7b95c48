"""How PostgreSQL reads lists: by an index in order, and no partition that is out of question."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.servers import run_manage

pytestmark = pytest.mark.slow

# Sorting and scanning are made unattractive, as many rows would make them.
PLANS = """
import json, uuid
from datetime import timedelta
from django.db import connection
from django.utils import timezone
from accounts.models import Workspace
from gateway.selectors.call_filters import CallFilters
from gateway.selectors.calls import call_page
from gateway.selectors.id_times import first_id_at
from gateway.selectors.visible import Visible
from gateway.services.rolling_up import roll_up_an_hour
from gateway.stores.key_records import load_recent_key_records
from keys.models import ApiKey

plans = []
def explain(execute, sql, params, many, context):
    if sql.startswith("SELECT") and ("callrecord" in sql or "usagerollup" in sql):
        execute(f"EXPLAIN (COSTS OFF) {sql}", params, many, context)
        plans.append("; ".join(row[0].strip() for row in context["cursor"].fetchall()))
    return execute(sql, params, many, context)

now = timezone.now()
workspace = Workspace.objects.get(slug="load-test-1")
key_id = ApiKey.objects.filter(workspace=workspace).order_by("id")[0].id
visible, place = Visible(workspace.id), first_id_at(now - timedelta(days=100))
filters = {
    "none": CallFilters(),
    "week": CallFilters(starts_at=now - timedelta(days=7)),
    "errors": CallFilters(status="failed"),
    "model": CallFilters(model="load/fast"),
    "key": CallFilters(key_id=key_id),
    "provider": CallFilters(provider="load-test"),
    "slow": CallFilters(min_total_us=4_000_000),
    "code": CallFilters(error_code="nothing"),
    "key and code": CallFilters(key_id=key_id, error_code="nothing"),
}
found = {}
with connection.cursor() as cursor:
    for name in ("seqscan", "bitmapscan", "sort"):
        cursor.execute(f"SET enable_{name} = off")
with connection.execute_wrapper(explain):
    for name, each in filters.items():
        for where, how in (("first", {}), ("deep", {"before": place}), ("newer", {"after": place})):
            plans.clear()
            call_page(visible, each, scan_rows=40, **how)
            found[f"{name}, {where}"] = list(plans)
    plans.clear()
    load_recent_key_records(10)
    roll_up_an_hour(now)
    found["recent totals"] = list(plans)
print(json.dumps(found))
"""
PARTITION = re.compile(r"gateway_callrecord_(\d{4}_\d{2}|default) ")


@pytest.fixture
def plans(postgresql_home: Path) -> dict[str, list[str]]:
    numbers = ("--workspaces", "3", "--keys", "12", "--calls", "4000", "--days", "200")
    seeded = run_manage(postgresql_home, "seed_load", *numbers, "--json")
    assert seeded.returncode == 0, seeded.stderr
    proved = run_manage(postgresql_home, "prove")
    assert proved.returncode == 0, proved.stdout
    done = run_manage(postgresql_home, "shell", "--no-imports", "-c", PLANS)
    assert done.returncode == 0, done.stderr
    found: dict[str, list[str]] = json.loads(done.stdout)
    return found


def test_lists_are_read_in_the_order_of_an_index_from_few_partitions(
    plans: dict[str, list[str]],
) -> None:
    recent = plans.pop("recent totals")

    for name, statements in plans.items():
        assert statements, name
        for plan in statements:
            if "One-Time Filter: false" in plan:  # between these two ids there can be none
                continue
            assert "Index" in plan, f"{name}: {plan}"
            assert "Seq Scan" not in plan, f"{name}: {plan}"
            assert "Sort" not in plan.replace("Sort Key", "") or "Merge Append" in plan, plan
    # What the week before now was in: one month or two, and the default partition.
    [week] = plans["week, first"]
    assert len(set(PARTITION.findall(week)) - {"default"}) <= 2 + 4  # and those of coming months
    # The second statement of a search is bounded by the first.
    for name in ("slow, deep", "code, deep", "slow, newer"):
        searched = plans[name][1]
        assert len(set(PARTITION.findall(searched))) <= 3, searched
    assert all("gateway_usagerollup_by_time" in plan for plan in recent), recent
