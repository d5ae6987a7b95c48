"""The first start is killed while it migrates and seeds; the next one goes on."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.servers import ROOT, environment, prepare_home, run_manage, running_gateway

pytestmark = pytest.mark.slow

KILLED_AFTER_S = (0.9, 1.2, 1.5, 2.0)


def test_a_start_that_was_killed_anywhere_is_followed_by_a_good_one(tmp_path: Path) -> None:
    home = tmp_path / "home"
    for after_s in KILLED_AFTER_S:
        process = subprocess.Popen(
            [sys.executable, str(ROOT / "manage.py"), "prepare", "--json"],
            env=environment(home),
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        with suppress(subprocess.TimeoutExpired):
            process.wait(after_s)
        process.kill()
        process.wait()

    prepare_home(home)

    with running_gateway(home) as server:
        assert server.chat()["choices"]
    assert run_manage(home, "prove").returncode == 0
