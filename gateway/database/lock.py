"""One program at a time, on all hosts that use a database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

# PostgreSQL's advisory locks are numbers that the programs of a database agree on.
SERVING = 7_204_001
PREPARING = 7_204_002
TOOLS = 7_204_003


def lock_for_transaction(number: int) -> None:
    """Wait until nobody else is in a transaction that has asked for the number.

    SQLite has one writer at a time anyway. Raises OperationalError when that takes too long.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [number])


@contextmanager
def locked(number: int) -> Iterator[None]:
    """Hold the number for the length of the block, of several transactions.

    Raises OperationalError when another has it for longer than this connection waits.
    """
    if connection.vendor != "postgresql":
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [number])
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [number])
