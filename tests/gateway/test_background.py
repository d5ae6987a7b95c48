"""Background work: what is pruned, what is not, and that the real worker does it."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from django.utils import timezone

from accounts.models import ConfigChange
from gateway.celery import app
from gateway.launch.programs import worker_command
from gateway.models import CallBody, LedgerCheck
from gateway.services.pruning import prune
from tests.support.servers import ROOT, STOP_S, environment
from tests.support.waiting import wait_until

NOW = timezone.now()


@pytest.mark.django_db
def test_bodies_go_when_their_days_are_over() -> None:
    for days in (1, 29, 31, 400):
        CallBody.objects.create(
            call_id=uuid4(), workspace_id=uuid4(), created_at=NOW - timedelta(days=days)
        )

    pruned = prune(now=NOW)

    assert pruned.bodies == 2
    assert CallBody.objects.count() == 2


@pytest.mark.django_db
def test_the_newest_change_stays_whatever_its_age() -> None:
    for _ in range(3):
        ConfigChange.objects.create(kind=ConfigChange.Kind.CATALOGUE)
    ConfigChange.objects.update(created_at=NOW - timedelta(days=100))
    newest = ConfigChange.objects.latest("pk")

    pruned = prune(now=NOW)

    assert pruned.changes == 2
    assert list(ConfigChange.objects.all()) == [newest]


@pytest.mark.django_db
def test_the_latest_verdict_stays_whatever_its_age() -> None:
    for days in (100, 90, 80):
        LedgerCheck.objects.create(
            checked_at=NOW - timedelta(days=days), duration_ms=1, entries=0, calls=0
        )

    pruned = prune(now=NOW)

    assert pruned.checks == 2


def test_every_entry_of_the_clock_is_a_task() -> None:
    app.loader.import_default_modules()

    entries = {entry["task"] for entry in app.conf.beat_schedule.values()}

    assert entries <= set(app.tasks)


@pytest.fixture
def worker(home: Path) -> Iterator[subprocess.Popen[bytes]]:
    with (home / "worker.log").open("wb") as log:
        process = subprocess.Popen(
            worker_command(), cwd=ROOT, env=environment(home), stdout=log, stderr=log
        )
    yield process
    process.terminate()
    process.wait(STOP_S)


def test_the_real_worker_proves_the_ledger_and_records_the_verdict(
    home: Path, worker: subprocess.Popen[bytes]
) -> None:
    def verdicts() -> list[tuple[str]]:
        with closing(sqlite3.connect(home / "tollhouse.sqlite3")) as database:
            return database.execute("SELECT breaks FROM gateway_ledgercheck").fetchall()

    subprocess.run(
        [sys.executable, "-m", "celery", "-A", "gateway", "call", "gateway.prove"],
        cwd=ROOT,
        env=environment(home),
        capture_output=True,
        check=True,
    )

    assert wait_until(verdicts, within_s=120, what="a verdict") == [("[]",)]
    assert worker.poll() is None
