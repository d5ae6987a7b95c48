"""What the OpenAPI document promises is what a running gateway does."""

from __future__ import annotations

import json
import urllib.request

import pytest

from tests.contract.asking import ask
from tests.support.proofs import form
from tests.support.servers import GatewayServer
from tests.support.waiting import wait_until

PHASES = ("Examples", "Coverage", "Fuzzing", "Stateful")


@pytest.mark.proof
def test_schemathesis_finds_nothing(gateway: GatewayServer) -> None:
    options = (
        "--max-examples",
        form(short="10", whole="500"),
        "--seed",
        "1",
        "--generation-deterministic",
    )

    found = ask(gateway, *options, "--continue-on-failure")

    assert found.returncode == 0, found.stdout
    for phase in PHASES:
        assert f"✅ {phase}" in " ".join(found.stdout.split()), found.stdout
    assert "Traceback" not in gateway.log.read_text()
    # Had nearly all been refused, nothing behind the validation would have been asked.
    wait_until(lambda: calls_served(gateway) >= 20, what="the usage of twenty calls")


def calls_served(gateway: GatewayServer) -> int:
    """Return how many calls of the seeded key got an answer from the model."""
    request = urllib.request.Request(
        f"{gateway.base_url}/usage?group_by=model",
        headers={"authorization": f"Bearer {gateway.key}"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        groups = json.load(answer)["data"]["groups"]
    return sum(group["calls"] - group["failed"] - group["refused"] for group in groups)
