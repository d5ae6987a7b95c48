"""Tables that grow with every call are partitioned on PostgreSQL (docs/adr/0044): calls by month,
and bodies, which are deleted after some days, by day.

By their ids, which are UUIDv7 and so begin with the time: the primary key stays one column.
Partitions are made ahead of time. Rows of a time that has none are in the default one.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db import Error as DatabaseError
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper
from django.utils import timezone

from gateway.core.time_spans import DAY
from gateway.selectors.id_times import first_id_at

log = logging.getLogger(__name__)

# An id is minted a moment before the row's time is taken, and clocks are set.
MARGIN = timedelta(hours=1)
# Who makes or drops a partition keeps everybody from the table: it waits no longer for its turn.
LOCK_WAIT = "500ms"


@dataclass(frozen=True, slots=True)
class Partitioned:
    """A table, the id that it is partitioned by, and how far ahead of time."""

    table: str
    key: str
    is_daily: bool
    ahead: timedelta

    def starts(self, start: datetime, end: datetime) -> Iterator[datetime]:
        """Yield when each partition begins that has some of the time between the moments (UTC)."""
        begin = self._floor(start)
        while begin <= end:
            yield begin
            begin = self.end_of(begin)

    def end_of(self, begin: datetime) -> datetime:
        return begin + DAY if self.is_daily else _next_month(begin)

    def name_of(self, begin: datetime) -> str:
        return f"{self.table}_{begin:%Y_%m_%d}" if self.is_daily else f"{self.table}_{begin:%Y_%m}"

    def _floor(self, moment: datetime) -> datetime:
        day = moment.day if self.is_daily else 1
        return datetime(moment.year, moment.month, day, tzinfo=UTC)


CALLS = Partitioned("gateway_callrecord", "id", is_daily=False, ahead=timedelta(days=92))
BODIES = Partitioned("gateway_callbody", "call_id", is_daily=True, ahead=timedelta(days=14))
TABLES = (CALLS, BODIES)


def turn_into_partitioned(cursor: CursorWrapper, of: Partitioned, now: datetime) -> None:
    """Turn a table into a partitioned one with the same columns, rows, and names of indexes."""
    table = of.table
    cursor.execute(
        "SELECT i.relname, x.indisprimary, pg_get_indexdef(i.oid) FROM pg_index x"
        " JOIN pg_class i ON i.oid = x.indexrelid WHERE x.indrelid = %s::regclass",
        [table],
    )
    indexes = cursor.fetchall()
    old, parts = f"{table}_old", f"{table}_parts"
    cursor.execute(
        f'CREATE TABLE "{parts}" (LIKE "{table}" INCLUDING DEFAULTS INCLUDING CONSTRAINTS)'
        f' PARTITION BY RANGE ("{of.key}")'
    )
    for name, _, _ in indexes:
        cursor.execute(f'ALTER INDEX "{name}" RENAME TO "{name[:58]}_old"')
    cursor.execute(f'ALTER TABLE "{table}" RENAME TO "{old}"')
    cursor.execute(f'ALTER TABLE "{parts}" RENAME TO "{table}"')
    for name, is_primary, definition in indexes:
        primary = f'ALTER TABLE "{table}" ADD CONSTRAINT "{name}" PRIMARY KEY ("{of.key}")'
        cursor.execute(primary if is_primary else definition)
    cursor.execute(f'CREATE TABLE "{table}_default" PARTITION OF "{table}" DEFAULT')
    for begin in of.starts(now, now + of.ahead):
        _make(cursor, of, begin)
    cursor.execute(f'INSERT INTO "{table}" SELECT * FROM "{old}"')  # noqa: S608 (our names)
    cursor.execute(f'DROP TABLE "{old}"')


def make_partitions(since: datetime | None = None) -> None:
    """Make the partitions from the moment, by default now, to some time ahead that are missing."""
    for of in TABLES:
        make_partitions_of(of, since)


def make_partitions_of(of: Partitioned, since: datetime | None = None) -> None:
    """The same of one table."""
    if connection.vendor != "postgresql":
        return
    now = timezone.now()
    known = set(_names(of))
    for begin in of.starts(since or now, now + of.ahead):
        if known.isdisjoint({of.name_of(begin), _name_of_month(of, begin)}):
            try:
                with transaction.atomic(), connection.cursor() as cursor:
                    cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_WAIT}'")
                    _make(cursor, of, begin)
            except DatabaseError as error:  # rows of the time are in the default partition, mostly
                log.warning("the partition %s cannot be made: %s", of.name_of(begin), error)


def drop_partitions(of: Partitioned, before: datetime) -> int:
    """Drop the partitions whose rows are all older; return how many. Raises OperationalError when
    the table is in use for longer than that may wait."""
    if connection.vendor != "postgresql":
        return 0
    dropped = 0
    for name in _names(of):
        if _end_of_named(of, name) + MARGIN <= before:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_WAIT}'")
                cursor.execute(f'DROP TABLE "{name}"')
            dropped += 1
    return dropped


def dropped_until(of: Partitioned, before: datetime) -> datetime:
    """Return up to where drop_partitions has left no rows but those of the default partition."""
    is_partitioned = connection.vendor == "postgresql"
    return before - (DAY + MARGIN) if is_partitioned and of.is_daily else before


def _names(of: Partitioned) -> list[str]:
    """Return the names of the partitions without the default one."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.relname FROM pg_inherits h JOIN pg_class c ON c.oid = h.inhrelid"
            " WHERE h.inhparent = %s::regclass AND c.relname <> %s ORDER BY 1",
            [of.table, f"{of.table}_default"],
        )
        return [name for (name,) in cursor.fetchall()]


def _end_of_named(of: Partitioned, name: str) -> datetime:
    """Return the end of a partition. Those of bodies were of months first."""
    year, month, *day = map(int, name.removeprefix(f"{of.table}_").split("_"))
    begin = datetime(year, month, day[0] if day else 1, tzinfo=UTC)
    return begin + DAY if day else _next_month(begin)


def _name_of_month(of: Partitioned, begin: datetime) -> str:
    return f"{of.table}_{begin:%Y_%m}"


def _next_month(begin: datetime) -> datetime:
    return (begin + timedelta(days=32)).replace(day=1)


def _make(cursor: CursorWrapper, of: Partitioned, begin: datetime) -> None:
    cursor.execute(
        f'CREATE TABLE IF NOT EXISTS "{of.name_of(begin)}" PARTITION OF "{of.table}"'
        f" FOR VALUES FROM ('{first_id_at(begin)}') TO ('{first_id_at(of.end_of(begin))}')"
    )
