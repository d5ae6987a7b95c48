"""The first choice's message of an answer, put together if it was streamed."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gateway.core.reasoning import AnyDetail, merge
from tests.flows.caller import Answer

# A test so marked runs once for each way that an answer comes.
BOTH = pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])


def message_of(answer: Answer) -> dict[str, Any]:
    """Return the message with its finish_reason."""
    assert answer.status == 200, answer.body
    if not answer.headers["content-type"].startswith("text/event-stream"):
        choice = answer.json["choices"][0]
        return {**choice["message"], "finish_reason": choice["finish_reason"]}
    assert answer.events[-1] == "[DONE]"
    whole: dict[str, Any] = {"content": ""}
    calls: dict[int, dict[str, Any]] = {}
    for choice in (chunk["choices"][0] for chunk in answer.chunks if chunk["choices"]):
        delta = choice["delta"]
        for name in ("content", "reasoning"):
            if delta.get(name):
                whole[name] = whole.get(name, "") + delta[name]
        for name in ("reasoning_details", "annotations"):
            if delta.get(name):
                whole[name] = whole.get(name, []) + delta[name]
        for piece in delta.get("tool_calls", ()):
            call = calls.setdefault(piece["index"], {"arguments": ""})
            call |= {name: piece[name] for name in ("id", "type") if name in piece}
            call |= {k: v for k, v in piece["function"].items() if k != "arguments"}
            call["arguments"] += piece["function"].get("arguments", "")
        if choice.get("finish_reason"):
            whole["finish_reason"] = choice["finish_reason"]
    if calls:
        whole["tool_calls"] = [
            {
                "id": call["id"],
                "type": call["type"],
                "function": {"name": call["name"], "arguments": call["arguments"]},
            }
            for call in calls.values()
        ]
    return whole


def whole_details(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return entries of reasoning_details with their pieces put together."""
    merged = merge(msgspec.convert(entries, list[AnyDetail]))
    return [
        {name: value for name, value in entry.items() if value not in (None, "")}
        for entry in msgspec.to_builtins(merged)
    ]


def usage_of(answer: Answer) -> dict[str, Any]:
    """Return the usage; a stream has to have been asked for it."""
    if not answer.headers["content-type"].startswith("text/event-stream"):
        usage: dict[str, Any] = answer.json["usage"]
        return usage
    [found] = [chunk["usage"] for chunk in answer.chunks if chunk.get("usage")]
    return dict(found)
