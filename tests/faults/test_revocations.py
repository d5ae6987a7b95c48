"""Revoked, locked and tightened: every process refuses, with Redis and without it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.revocations import CHANGES, run_revocations
from tests.support.storage import POSTGRESQL


@pytest.mark.slow
def test_every_process_refuses_what_was_taken_away(tmp_path: Path) -> None:
    found = run_revocations(tmp_path / "home", storage=POSTGRESQL, processes=2, rounds=1)

    assert len(found) == 2 * len(CHANGES)
    assert [text for figures in found.values() for text in figures.unexpected] == []
