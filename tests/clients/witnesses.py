"""What others than the client know of a call: the provider's book, the gateway's record."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from typing import Any

from tests.support.servers import GatewayServer, UpstreamServer
from tests.support.waiting import wait_until

# "script:hang" as one message of a user, by the provider's rules.
HANG_PROMPT_TOKENS = 10
INPUT_NUSD = 1_000  # per token of `fake-model`


def calls_begun(upstream: UpstreamServer) -> list[str]:
    """Return the ids of all calls that the fake upstream has seen."""
    return [call["request_id"] for call in upstream.book()]


def wait_for_call(upstream: UpstreamServer, before: list[str]) -> str:
    """Return the id of the one call that the fake upstream saw after `before`, once it did."""
    [call_id] = wait_until(
        lambda: [call_id for call_id in calls_begun(upstream) if call_id not in before],
        what="the call to reach the upstream",
    )
    return call_id


def wait_for_hang_up(upstream: UpstreamServer, call_id: str) -> dict[str, Any]:
    """Return what the fake upstream knows of a call, once its connection was cut."""

    def find() -> list[dict[str, Any]]:
        entries = [entry for entry in upstream.book() if entry["request_id"] == call_id]
        return [entry for entry in entries if entry["state"] == "cancelled"]

    [entry] = wait_until(find, what="the upstream connection to be closed")
    return entry


def wait_for_record(server: GatewayServer, call_id: str) -> dict[str, Any]:
    """Return what the gateway has written down about a call, once it has ended."""
    request = urllib.request.Request(
        f"{server.base_url}/generation?id={call_id}",
        headers={"Authorization": f"Bearer {server.key}"},
    )

    def find() -> dict[str, Any]:
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                record: dict[str, Any] = json.load(answer)["data"]
        except urllib.error.HTTPError as error:  # until its beginning was written down
            error.close()
            return {}
        return record if record["status"] != "in_progress" else {}

    return wait_until(find, what="the record")


def assert_left(server: GatewayServer, upstream: UpstreamServer, call_id: str) -> dict[str, Any]:
    """Assert that a call whose caller left was ended everywhere; return its record."""
    wait_for_hang_up(upstream, call_id)
    record = wait_for_record(server, call_id)
    assert record["status"] == "aborted"
    return record


def assert_prompt_paid(record: dict[str, Any]) -> None:
    """Assert that a caller of "script:hang" that left before the first token paid the prompt."""
    assert (record["status"], record["charge_basis"]) == ("aborted", "estimate")
    assert (record["tokens_prompt"], record["tokens_completion"]) == (HANG_PROMPT_TOKENS, 0)
    assert record["cost_nano_usd"] == str(HANG_PROMPT_TOKENS * INPUT_NUSD)


async def assert_call_left(
    server: GatewayServer, upstream: UpstreamServer, before: list[str]
) -> dict[str, Any]:
    """assert_left of the one call since `before`, beside a client that hangs up in this loop."""
    call_id = await asyncio.to_thread(wait_for_call, upstream, before)
    return await asyncio.to_thread(assert_left, server, upstream, call_id)
