"""The marks that say which totals are complete already."""

from __future__ import annotations

from django.db import connection


def find_mark_s(table: str, column: str) -> int:
    """Return the moment in a table of one row, in seconds since the epoch; 0 when there is none.

    Inside the transaction that writes totals: until it ends, the mark does not move.
    """
    lock = " FOR SHARE" if connection.vendor == "postgresql" else ""
    epoch = (
        f"CAST(strftime('%%s', {column}) AS INTEGER)"
        if connection.vendor == "sqlite"
        else f"CAST(extract(epoch FROM {column}) AS BIGINT)"
    )
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {epoch} FROM {table}{lock}", [])  # noqa: S608 (constants only)
        row = cursor.fetchone()
    return row[0] if row else 0
