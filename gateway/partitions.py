"""Tables that grow with every call are partitioned by month on PostgreSQL (docs/adr/0044).

By their ids, which are UUIDv7 and so begin with the time: the primary key stays one column. Months
are made ahead of time. Rows of months that have no partition are in the default one.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from django.db import IntegrityError, connection, transaction
from django.db.backends.utils import CursorWrapper

from gateway.selectors.id_times import first_id_at

log = logging.getLogger(__name__)

# The tables, and the id that each is partitioned by.
TABLES = {"gateway_callrecord": "id", "gateway_callbody": "call_id"}
MONTHS_AHEAD = 3
# An id is minted a moment before the row's time is taken, and clocks are set.
MARGIN = timedelta(hours=1)
# Who drops a partition keeps everybody from the table: it waits no longer for its turn.
LOCK_WAIT = "500ms"


def partition_by_month(cursor: CursorWrapper, table: str, key: str, now: datetime) -> None:
    """Turn a table into a partitioned one with the same columns, rows, and names of indexes."""
    cursor.execute(
        "SELECT i.relname, x.indisprimary, pg_get_indexdef(i.oid) FROM pg_index x"
        " JOIN pg_class i ON i.oid = x.indexrelid WHERE x.indrelid = %s::regclass",
        [table],
    )
    indexes = cursor.fetchall()
    old, parts = f"{table}_old", f"{table}_parts"
    cursor.execute(
        f'CREATE TABLE "{parts}" (LIKE "{table}" INCLUDING DEFAULTS INCLUDING CONSTRAINTS)'
        f' PARTITION BY RANGE ("{key}")'
    )
    for name, _, _ in indexes:
        cursor.execute(f'ALTER INDEX "{name}" RENAME TO "{name[:58]}_old"')
    cursor.execute(f'ALTER TABLE "{table}" RENAME TO "{old}"')
    cursor.execute(f'ALTER TABLE "{parts}" RENAME TO "{table}"')
    for name, is_primary, definition in indexes:
        primary = f'ALTER TABLE "{table}" ADD CONSTRAINT "{name}" PRIMARY KEY ("{key}")'
        cursor.execute(primary if is_primary else definition)
    cursor.execute(f'CREATE TABLE "{table}_default" PARTITION OF "{table}" DEFAULT')
    for month in months(now, MONTHS_AHEAD):
        _make(cursor, table, month)
    cursor.execute(f'INSERT INTO "{table}" SELECT * FROM "{old}"')  # noqa: S608 (our names)
    cursor.execute(f'DROP TABLE "{old}"')


def make_partitions(start: datetime, *, ahead: int = MONTHS_AHEAD) -> None:
    """Make the partitions of the month of `start`, and of so many after it, that are missing."""
    if connection.vendor != "postgresql":
        return
    for table in TABLES:
        for month in months(start, ahead):
            try:
                with transaction.atomic(), connection.cursor() as cursor:
                    _make(cursor, table, month)
            except IntegrityError:
                log.warning("%s has rows of %s in the default partition", table, f"{month:%Y-%m}")


def drop_partitions(table: str, before: datetime) -> int:
    """Drop the partitions whose rows are all older; return how many. Raises OperationalError when
    the table is in use for longer than that may wait."""
    if connection.vendor != "postgresql":
        return 0
    dropped = 0
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.relname FROM pg_inherits h JOIN pg_class c ON c.oid = h.inhrelid"
            " WHERE h.inhparent = %s::regclass AND c.relname <> %s ORDER BY 1",
            [table, f"{table}_default"],
        )
        names = [name for (name,) in cursor.fetchall()]
    for name in names:
        year, month = map(int, name.removeprefix(f"{table}_").split("_"))
        if _next(datetime(year, month, 1, tzinfo=UTC)) + MARGIN <= before:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_WAIT}'")
                cursor.execute(f'DROP TABLE "{name}"')
            dropped += 1
    return dropped


def months(start: datetime, ahead: int) -> Iterator[datetime]:
    """Yield the beginning of the month of `start`, and of so many after it. start: in UTC."""
    month = datetime(start.year, start.month, 1, tzinfo=UTC)
    for _ in range(ahead + 1):
        yield month
        month = _next(month)


def _next(month: datetime) -> datetime:
    return (month + timedelta(days=32)).replace(day=1)


def _make(cursor: CursorWrapper, table: str, month: datetime) -> None:
    cursor.execute(
        f'CREATE TABLE IF NOT EXISTS "{table}_{month:%Y_%m}" PARTITION OF "{table}"'
        f" FOR VALUES FROM ('{first_id_at(month)}') TO ('{first_id_at(_next(month))}')"
    )
