"""The disk is nearly full: nobody new is let in, who runs is settled, and it is said."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import add_fake_model
from tests.flows.caller import Caller
from tests.support.servers import GatewayServer, UpstreamServer, run_manage, running_gateway
from tests.support.waiting import wait_until

MB = 1024 * 1024
# Others write to the disk, too: so much more or less of it says nothing.
SLACK_MB, FILLING_MB = 1_024, 2_048


def free_mb(folder: Path) -> int:
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize // MB


@contextmanager
def filled(folder: Path) -> Iterator[None]:
    """Take a part of the disk away, without writing to it."""
    file = folder / "filling"
    with file.open("wb") as filling:
        os.posix_fallocate(filling.fileno(), 0, FILLING_MB * MB)
    try:
        yield
    finally:
        file.unlink()


def read(server: GatewayServer, path: str) -> tuple[int, dict[str, Any]]:
    try:
        with urllib.request.urlopen(f"{server.base_url}{path}", timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refusal:
        return refusal.code, json.load(refusal)


def test_no_calls_are_admitted_and_those_that_run_are_settled(
    home: Path, upstream: UpstreamServer
) -> None:
    if free_mb(home) < 4 * FILLING_MB:
        pytest.skip("needs 8 GB of free disk space")
    least = {"TOLLHOUSE_MIN_FREE_MB": str(free_mb(home) - SLACK_MB)}
    with running_gateway(home, env=least) as gateway:
        add_fake_model(gateway, upstream)
        caller = Caller(gateway.port, gateway.key, "", "", "fake-model")
        prompt = "script:tokens=5&stall_after=2&gate=nearly-full"
        with caller.begin(prompt, stream=True) as running:
            running.wait_for_tokens(2)
            with filled(home):
                wait_until(lambda: caller.ask().status == 503, what="calls to be refused")
                refused = caller.ask()
                health, status = read(gateway, "/health"), read(gateway, "/status")
                upstream.open_gate("nearly-full")
                rest = running.answer()

        wait_until(lambda: caller.ask().status == 200, what="calls to be admitted again")
        wait_until(lambda: read(gateway, "/health")[0] == 200, what="health")
        gateway.stop()

    assert refused.error["code"] == "storage_unavailable"
    assert "free" in refused.error["message"]
    assert int(refused.headers["retry-after"]) >= 1
    assert (health[0], health[1]["error"]["code"]) == (503, "storage_unavailable")
    assert status[1]["status"] == "unavailable"
    assert "free" in status[1]["problem"]
    assert rest.events[-1] == "[DONE]"
    proof = run_manage(home, "prove", "--json")
    assert proof.returncode == 0, proof.stdout
