"""Months of calls and days of bodies are tables on PostgreSQL, made ahead, dropped whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.postgresql import PostgresqlServer
from tests.support.servers import run_manage, running_gateway
from tests.support.storage import database_of

pytestmark = pytest.mark.slow

TABLES = "SELECT relname FROM pg_class WHERE relispartition AND relkind = 'r' ORDER BY 1"
# One process: to start them takes longer than all they do.
PRUNE = """
from datetime import timedelta
from uuid import UUID, uuid4
from django.db import connection
from django.utils import timezone
from gateway.models import CallBody, CallRecord
from gateway.database.partitions import BODIES, make_partitions_of
from gateway.selectors.id_times import first_id_at
from gateway.services.pruning import prune
now = timezone.now()
old, recent = now - timedelta(days=34), now - timedelta(minutes=1)
make_partitions_of(BODIES, old)
make_partitions_of(BODIES, old)
for moment in (old, recent):
    CallBody.objects.create(call_id=first_id_at(moment), workspace_id=uuid4(), created_at=moment)
CallBody.objects.create(call_id=UUID(int=1), workspace_id=uuid4(), created_at=old)
with connection.cursor() as cursor:
    cursor.execute("SELECT tableoid::regclass::text FROM gateway_callbody ORDER BY created_at")
    print([name for (name,) in cursor.fetchall()])
    cursor.execute("SELECT indexname FROM pg_indexes WHERE tablename = 'gateway_callrecord'")
    names = {name for (name,) in cursor.fetchall()}
print({index.name for index in CallRecord._meta.indexes} - names)
print(prune(now=now).bodies, CallBody.objects.count())
"""
# A partition of a month, as there were before those of days.
MONTH = """
from datetime import UTC, datetime
from django.db import connection
from gateway.database.partitions import BODIES, drop_partitions
from gateway.selectors.id_times import first_id_at
ids = [first_id_at(datetime(2020, month, 1, tzinfo=UTC)) for month in (2, 3)]
with connection.cursor() as cursor:
    cursor.execute("CREATE TABLE gateway_callbody_2020_02 PARTITION OF gateway_callbody"
                   f" FOR VALUES FROM ('{ids[0]}') TO ('{ids[1]}')")
print(drop_partitions(BODIES, datetime(2020, 3, 1, 0, 30, tzinfo=UTC)))
print(drop_partitions(BODIES, datetime(2020, 3, 1, 2, tzinfo=UTC)))
"""


def test_old_days_are_dropped_and_coming_ones_are_there(
    postgresql_home: Path, postgresql: PostgresqlServer
) -> None:
    before = postgresql.run(TABLES, database=database_of(postgresql_home)).splitlines()

    done = run_manage(postgresql_home, "shell", "--no-imports", "-c", PRUNE)

    after = postgresql.run(TABLES, database=database_of(postgresql_home)).splitlines()
    assert done.returncode == 0, done.stderr
    places, missing_indexes, counts = done.stdout.splitlines()
    assert "gateway_callbody_default" in places
    assert places.count("gateway_callbody_2") == 2
    assert missing_indexes == "set()"
    assert counts == "1 1"  # the row of no day is deleted, the day of the other is gone
    assert sum("callrecord" in name for name in before) >= 4 + 1
    assert sum("callbody" in name for name in before) == 15 + 1
    # Of the days made for the test those are left that are younger than bodies may be.
    assert sum("callbody" in name for name in after if name not in before) in (30, 31)


def test_partitions_of_months_from_before_are_dropped_too(postgresql_home: Path) -> None:
    done = run_manage(postgresql_home, "shell", "--no-imports", "-c", MONTH)

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["0", "1"]


def test_calls_are_recorded_in_the_partition_of_their_month(
    postgresql_home: Path, postgresql: PostgresqlServer
) -> None:
    with running_gateway(postgresql_home) as server:
        server.chat()

    places = postgresql.run(
        "SELECT DISTINCT tableoid::regclass FROM gateway_callrecord",
        database=database_of(postgresql_home),
    )
    assert places.startswith("gateway_callrecord_2")
    assert run_manage(postgresql_home, "prove").returncode == 0
