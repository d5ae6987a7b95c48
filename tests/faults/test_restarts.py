"""Processes are replaced and a host is killed under load; each call ends as it should."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.restarts import Plan, run_restarts


@pytest.mark.slow
def test_no_call_fails_but_those_of_the_killed_host(tmp_path: Path) -> None:
    plan = Plan(restarts=1, rate=20, workers=1, steady_s=1)

    report = run_restarts(tmp_path, plan)

    assert report.is_clean, report
    assert report.whole > 0
    assert report.streams > 0
    assert report.broken["platform_aborted"] > 0
