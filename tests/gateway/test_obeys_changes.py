"""A running gateway obeys what commands change, without a restart."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

import pytest

from tests.support.servers import GatewayServer
from tests.support.waiting import wait_until


def ask(server: GatewayServer, key: str) -> tuple[int, str]:
    """Call once; return the status and the error's code, which is empty on success."""
    body = {"model": server.model, "messages": [{"role": "user", "content": "Hello"}]}
    request = urllib.request.Request(
        f"{server.base_url}/chat/completions",
        data=json.dumps(body).encode(),
        headers={"authorization": f"Bearer {key}", "content-type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, ""
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code, json.load(refusal)["error"]["code"]


@pytest.fixture(scope="session")
def rich(shared_gateway: GatewayServer) -> str:
    """Return the id of a workspace with credit."""
    answer = shared_gateway.manage("create_workspace", "Rich", "--credit", "1")
    return str(answer["workspace_id"])


def issue(server: GatewayServer, workspace_id: str, *rules: str) -> dict[str, Any]:
    return server.manage("issue_key", workspace_id, "Of this test", *rules)


def test_a_key_works_once_issued_and_not_once_revoked(
    shared_gateway: GatewayServer, rich: str
) -> None:
    key = issue(shared_gateway, rich)
    wait_until(lambda: ask(shared_gateway, key["secret"]) == (200, ""))

    shared_gateway.manage("revoke_key", key["key_id"])

    wait_until(lambda: ask(shared_gateway, key["secret"]) == (401, "invalid_api_key"))


@pytest.mark.parametrize(
    ("rules", "refusal"),
    [
        (("--ip", "203.0.113.7"), (403, "ip_not_allowed")),
        (("--ip", "::ffff:127.0.0.1", "--expires", "1h"), (200, "")),
        (("--scope", "usage"), (403, "insufficient_scope")),
        (("--model", "another"), (403, "model_not_allowed")),
    ],
)
def test_a_key_is_bound_by_the_rules_it_was_issued_with(
    shared_gateway: GatewayServer, rich: str, rules: tuple[str, ...], refusal: tuple[int, str]
) -> None:
    key = issue(shared_gateway, rich, *rules)

    wait_until(lambda: ask(shared_gateway, key["secret"]) == refusal)


def test_a_workspace_without_credit_is_refused_until_it_gets_some(
    shared_gateway: GatewayServer,
) -> None:
    poor = str(shared_gateway.manage("create_workspace", "Poor")["workspace_id"])
    key = issue(shared_gateway, poor)
    wait_until(lambda: ask(shared_gateway, key["secret"]) == (402, "insufficient_credits"))

    shared_gateway.manage("grant_credits", poor, "1", "--reason", "gift")

    wait_until(lambda: ask(shared_gateway, key["secret"]) == (200, ""))
