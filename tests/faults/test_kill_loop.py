"""The server is killed at random under load, its disk, database, journal and home disturbed; not a
nano-dollar and not a record may be missing but those that were made unreadable."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.kill_loop import run_kill_loop


@pytest.mark.slow
def test_killed_server_loses_no_money_and_no_record(home: Path) -> None:
    seed = 20_261_121

    report = run_kill_loop(home, calls=800, kills=12, seed=seed)

    assert report.is_clean, report
    assert report.kills > 5
    assert all(report.disruptions.values())
    assert report.damaged > 0
    assert report.outcomes["buffered"] > 0
    assert report.outcomes["left"] > 0
    assert report.outcomes["idempotent"] > 0
    assert report.statuses["platform_aborted"] > 0
