"""Many rows in few statements.

Most of what a row costs SQLite's caller is handing over its values one by one, and asking for the
interpreter's lock again after each statement. So rows that have values in common go in together,
and what they have in common is handed over once. PostgreSQL takes rows fastest by COPY.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, repeat

from django.db import connection
from django.db.backends.utils import CursorWrapper

from accounts.untyped import SqlValue

Row = tuple[SqlValue, ...]
# Rows by what they have in common: the values of the common columns, and of the others.
Groups = Mapping[Row, Sequence[Row]]

NUL = "\x00"
# Rows per statement: as many of the largest as fit, then of the next.
CHUNKS = (64, 16, 4, 1)


def storable(row: Row) -> Row:
    """Return the row without NUL characters, which texts cannot have on PostgreSQL."""
    if not any(isinstance(value, str) and NUL in value for value in row):
        return row
    return tuple(value.replace(NUL, "\ufffd") if isinstance(value, str) else value for value in row)


class Insert:
    """An INSERT into one table, of rows that share the values of some columns."""

    def __init__(
        self,
        table: str,
        common: Sequence[str],
        own: Sequence[str],
        *,
        verb: str = "INSERT",
        on_conflict: str = "",
    ) -> None:
        """common, own: together the columns; the names are put into SQL as they are."""
        names = ", ".join(f'"{column}"' for column in (*common, *own))
        self._copy = "" if on_conflict else f"COPY {table} ({names}) FROM STDIN"
        self._into = f"{verb} INTO {table} ({names}) VALUES "
        self._on_conflict = f" {on_conflict}"
        self._common = len(common)
        self._own = len(own)
        marks = ", ".join(repeat("%s", self._common + self._own))
        self._single = f"{self._into}({marks}){self._on_conflict}"
        self._chunked = {size: self._of_chunk(size) for size in CHUNKS}

    def run(self, cursor: CursorWrapper, groups: Groups) -> None:
        """Insert the rows, in their order."""
        if connection.vendor != "sqlite":
            self._run_on_server(cursor, groups)
            return
        # Not by the cursor: Django would look for %s in all of a long statement, each time.
        with connection.wrap_database_errors:
            for common, owns in groups.items():
                self._run_in_chunks(common, owns)

    def _run_on_server(self, cursor: CursorWrapper, groups: Groups) -> None:
        rows = [storable(common + own) for common, owns in groups.items() for own in owns]
        if not self._copy:
            cursor.executemany(self._single, rows)
        elif rows:
            with connection.wrap_database_errors, cursor.copy(self._copy) as copying:
                for row in rows:
                    copying.write_row(row)

    def _run_in_chunks(self, common: Row, owns: Sequence[Row]) -> None:
        execute = connection.connection.execute
        done, left = 0, len(owns)
        for size in CHUNKS:
            while left - done >= size:
                chunk = owns[done : done + size]
                execute(self._chunked[size], (*common, *chain.from_iterable(chunk)))
                done += size

    def _of_chunk(self, rows: int) -> str:
        """Return the statement for so many rows; the common values are its first parameters.

        Only these have a number. From Python 3.12 on, sqlite3 searches all numbered parameters for
        each value it hands over: with numbers everywhere, 64 rows took three times as long.
        """
        shared = [f"?{number + 1}" for number in range(self._common)]
        values = f"({','.join((*shared, *repeat('?', self._own)))})"
        return f"{self._into}{','.join(repeat(values, rows))}{self._on_conflict}"
