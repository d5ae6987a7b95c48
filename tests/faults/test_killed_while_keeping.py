"""The server is killed after a call, before the database has its answer for an idempotency key."""

from __future__ import annotations

import json
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import add_fake_model
from tests.support.rows import locked_database, select
from tests.support.servers import GatewayServer, UpstreamServer, run_manage
from tests.support.waiting import wait_until


def ask(server: GatewayServer, *, stream: bool, first_ms: int) -> bytes:
    """Make the one call of this test; return its answer."""
    prompt = f"script:tokens=5&first_ms={first_ms}"
    body: dict[str, Any] = {"model": "fake-model", "stream": stream, "max_tokens": 50}
    body["messages"] = [{"role": "user", "content": prompt}]
    request = urllib.request.Request(
        f"{server.base_url}/chat/completions",
        data=json.dumps(body).encode(),
        headers={
            "Authorization": f"Bearer {server.key}",
            "Content-Type": "application/json",
            "Idempotency-Key": "once",
        },
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return bytes(answer.read())


@pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
def test_an_answer_that_was_given_is_on_record_and_had_again(
    gateway: GatewayServer, upstream: UpstreamServer, home: Path, stream: bool
) -> None:
    add_fake_model(gateway, upstream)
    upstream.clear()

    def states() -> list[str]:
        return [entry["state"] for entry in upstream.book()]

    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(ask, gateway, stream=stream, first_ms=500)
        wait_until(lambda: states() == ["running"], what="the call to be at the provider")
        with locked_database(home):
            wait_until(lambda: states() == ["done"], what="the provider's answer")
            given = first.result()  # whoever holds the lock
            gateway.kill()
    gateway.restart()
    again = ask(gateway, stream=stream, first_ms=500)
    gateway.stop()

    assert b"tok4" in given
    assert again == given
    [(status, charge_nusd)] = select(home, "SELECT status, charge_nusd FROM gateway_callrecord")
    assert status == "ok"
    assert int(charge_nusd) > 0
    assert run_manage(home, "prove").returncode == 0
