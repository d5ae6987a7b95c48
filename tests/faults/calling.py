"""Plain calls to a gateway in trouble: what they are answered, and what its records say."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.rows import select
from tests.support.servers import GatewayServer


@dataclass(frozen=True)
class Answer:
    """call_id: as a record has it, without dashes."""

    status: int
    call_id: str
    body: dict[str, Any]

    @property
    def code(self) -> str:
        return str(self.body["error"]["code"])


def call(
    server: GatewayServer, *, key: str = "", prompt: str = "Hello", model: str = "", tokens: int = 5
) -> Answer:
    """Make a buffered call, with the installation's first key and model unless others are named."""
    body = {
        "model": model or server.model,
        "messages": [{"role": "user", "content": prompt}],
        "max_tokens": tokens,
    }
    headers = {"Authorization": f"Bearer {key or server.key}", "Content-Type": "application/json"}
    return _ask(server, "/chat/completions", headers, json.dumps(body).encode())


def get(server: GatewayServer, path: str) -> Answer:
    """Read an address below /v1 that asks for no key."""
    return _ask(server, path, {}, None)


def _ask(
    server: GatewayServer, path: str, headers: Mapping[str, str], body: bytes | None
) -> Answer:
    request = urllib.request.Request(server.base_url + path, data=body, headers=dict(headers))
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return _read(answer)
    except urllib.error.HTTPError as refusal:
        with refusal:
            return _read(refusal)


def _read(answer: Any) -> Answer:
    call_id = answer.headers.get("x-request-id", "").replace("-", "")
    return Answer(answer.status, call_id, json.loads(answer.read()))


def statuses(home: Path) -> dict[str, str]:
    """Return the status of each call on record, by its id."""
    return {row[0]: row[1] for row in select(home, "SELECT id, status FROM gateway_callrecord")}


def call_until_drawn(server: GatewayServer) -> list[str]:
    """Make calls until the process has money for a hundred more; return their ids."""
    return [call(server, tokens=500).call_id for _ in range(4)]
