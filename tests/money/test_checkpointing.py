"""The write-ahead log is emptied when it has grown, and nobody waits for that."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from django.db import connection

from gateway.models import CallBody
from gateway.services.checkpointing import checkpoint
from tests.factories import make_workspace

pytestmark = pytest.mark.django_db(transaction=True)

LIMIT_BYTES = 200_000


def log_file() -> Path:
    return Path(f"{connection.settings_dict['NAME']}-wal")


def write(count: int) -> None:
    """Write so many times 100 KB in transactions of their own."""
    workspace = make_workspace()
    for number in range(count):
        CallBody.objects.create(
            call_id=f"00000000-0000-7000-8000-{number:012}",
            workspace_id=workspace.pk,
            created_at="2026-01-01T00:00:00Z",
            request="x" * 100_000,
        )
        CallBody.objects.all().delete()


def test_a_log_that_grew_beside_a_reader_is_emptied_when_the_reader_has_ended() -> None:
    with closing(sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT COUNT(*) FROM gateway_callbody").fetchone()
        write(20)
        grown_bytes = log_file().stat().st_size
        assert grown_bytes > LIMIT_BYTES

        assert not checkpoint(limit_bytes=LIMIT_BYTES)
        write(1)  # who reads keeps nobody from writing
        assert other.execute("SELECT COUNT(*) FROM gateway_callbody").fetchone() == (0,)
        other.execute("ROLLBACK")

    assert checkpoint(limit_bytes=LIMIT_BYTES)
    assert log_file().stat().st_size == 0


def test_a_short_log_is_left_alone() -> None:
    make_workspace()
    before_bytes = log_file().stat().st_size

    assert not checkpoint()

    assert log_file().stat().st_size == before_bytes


def test_a_log_that_begins_anew_is_cut_to_its_limit() -> None:
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA journal_size_limit")
        assert cursor.fetchone() == (64 * 1024 * 1024,)
