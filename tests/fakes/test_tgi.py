"""The fake Text Generation Inference refuses what the server refuses, or would lose in silence."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.asking import Reply, connect, read_reply, request_bytes, script
from tests.support.servers import UpstreamServer

CALL = {"id": "0", "type": "function", "function": {"name": "f", "arguments": "{}"}}
RESULT = {"role": "tool", "tool_call_id": "0", "content": "Rain."}


def ask(upstream: UpstreamServer, **body: Any) -> Reply:
    with connect(upstream) as link:
        request = request_bytes(script(tokens=1, cached=1), **body)
        link.sendall(request.replace(b"/v1/chat", b"/tgi/v1/chat", 1))
        return read_reply(link)


@pytest.mark.parametrize(
    "body",
    [
        {"stop": ["a", "b"], "top_p": 0.5},
        {"messages": [{"role": "assistant", "tool_calls": [CALL]}, RESULT]},
        {"response_format": {"type": "json", "value": {"type": "object"}}},
    ],
    ids=str,
)
def test_the_server_takes(upstream: UpstreamServer, body: dict[str, Any]) -> None:
    reply = ask(upstream, **body)

    assert reply.status == 200, reply.body
    assert reply.json["usage"].keys() == {"prompt_tokens", "completion_tokens", "total_tokens"}


@pytest.mark.parametrize(
    "body",
    [
        {"stop": "a"},
        {"stop": list("abcde")},
        {"top_p": 1},
        {"user": "ann"},
        {"response_format": {"type": "json_schema", "json_schema": {}}},
        {"response_format": {"type": "json", "value": {"type": "nonsense"}}},
        {"messages": [{"role": "assistant", "content": "Hm.", "tool_calls": [CALL]}, RESULT]},
        {"messages": [{"role": "assistant", "content": None}]},
        {"messages": [{"role": "user", "content": [{"type": "file", "file": {}}]}]},
        {"messages": [{"role": "user", "content": "Hi", "reasoning": "Hm."}]},
    ],
    ids=str,
)
def test_the_server_refuses(upstream: UpstreamServer, body: dict[str, Any]) -> None:
    reply = ask(upstream, **body)

    assert (reply.status, reply.json["error_type"]) == (422, "validation")
