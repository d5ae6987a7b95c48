"""`make bench` still starts everything that it compares, and every call of it is answered."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_a_quick_run_measures_the_gateway_and_the_relay(tmp_path: Path) -> None:
    out = tmp_path / "figures.json"
    command = [sys.executable, "-m", "bench", "--quick", "--only", "buffered", "--out", str(out)]
    # The settings of tests are for the process that runs them.
    environment = {"PATH": os.environ["PATH"], "TOLLHOUSE_HOME": str(tmp_path / "home")}

    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    figures = json.loads(out.read_text())["figures"]["buffered"]
    assert set(figures) >= {"gateway", "relay"}, done.stdout
