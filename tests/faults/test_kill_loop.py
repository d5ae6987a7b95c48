"""Server processes, Redis and the database server are killed at random under load, their disk,
database, journal and home disturbed; not a nano-dollar and not a record may be missing but those
that were made unreadable."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest

from tests.faults.disruptions import (
    DATABASE,
    FLIPPED,
    LOCKED,
    MOVED,
    PAUSED,
    READ_ONLY,
    REDIS,
)
from tests.faults.kill_loop import Plan, run_kill_loop
from tests.support.storage import POSTGRESQL

SEED = 20_261_121


@pytest.mark.slow
def test_killed_server_loses_no_money_and_no_record(home: Path) -> None:
    kinds = (READ_ONLY, LOCKED, PAUSED, FLIPPED, REDIS, MOVED)
    plan = Plan(calls=220, kills=len(kinds), kinds=kinds, seed=SEED, watches_recovery=False)

    report = run_kill_loop(home, plan)

    assert report.is_clean, asdict(report)
    assert report.disruptions == dict.fromkeys(kinds, 1)
    assert report.damaged > 0
    for part in ("buffered", "left", "idempotent", "fallback", "limited"):
        assert any(part in outcome for outcome in report.outcomes), part
    assert report.statuses["platform_aborted"] > 0


@pytest.mark.slow
def test_killed_processes_and_servers_lose_nothing_on_postgresql(tmp_path: Path) -> None:
    kinds = (PAUSED, REDIS, DATABASE)
    plan = Plan(
        calls=120,
        kills=len(kinds),
        kinds=kinds,
        seed=SEED,
        storage=POSTGRESQL,
        processes=2,
        watches_recovery=False,
    )

    report = run_kill_loop(tmp_path / "home", plan)

    assert report.is_clean, asdict(report)
    assert report.disruptions == dict.fromkeys(kinds, 1)
    assert report.outcomes["idempotent"] > 0
