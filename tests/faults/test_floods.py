"""A short run of each flood: bounded memory, nothing spooled to disk, good callers served.

`make prove-floods` runs them for longer; `python -m tests.faults.flood` measures, too.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.flood.attacker import TOGETHER
from tests.faults.flood.drill import run_drill
from tests.support.proofs import form

MAX_MEMORY_MB = 600
# SQLite keeps what a statement may have to take back there, a few pages of it. Bodies are larger.
MAX_SCRATCH_BYTES = 1_000_000
FLOOD_S = form(short=1.5, whole=20.0)


@pytest.mark.proof
@pytest.mark.parametrize("kind", TOGETHER)
def test_flood_costs_no_memory_no_disk_and_no_call_of_a_good_caller(home: Path, kind: str) -> None:
    report = run_drill(home, kind, connections=60, quiet_s=0.5, flood_s=FLOOD_S)

    assert set(report.calls) == {"200"}, report
    assert report.memory_mb < MAX_MEMORY_MB, report
    assert report.spooled_bytes < MAX_SCRATCH_BYTES, report
    assert any(report.attempts.values()), report
