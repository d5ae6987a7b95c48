"""Calls in Anthropic's format, and what a program makes of the answers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

from tests.flows.caller import Answer, Caller, LiveCall

MESSAGES = "/v1/messages"
ECHO = "script:echo"
Body = dict[str, Any]
# What the last but one event of a stream says beside members of the message itself.
OF_DELTA = frozenset({"type", "delta", "usage"})


@dataclass(frozen=True)
class Messenger(Caller):
    """A program that speaks Anthropic's format."""

    @classmethod
    def of(cls, caller: Caller) -> Self:
        return cls(**{field.name: getattr(caller, field.name) for field in fields(Caller)})

    def begin(
        self,
        prompt: str = "hello there",
        *,
        raw: bytes | Iterable[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
        path: str = MESSAGES,
        method: str = "POST",
        **members: Any,
    ) -> LiveCall:
        """Send a call with the key where Anthropic's SDKs put it."""
        sent = {"authorization": "", "x-api-key": self.secret, "anthropic-version": "2023-06-01"}
        return super().begin(
            prompt,
            raw=raw,
            headers=sent | dict(headers or {}),
            path=path,
            method=method,
            **({"max_tokens": 1000} | members),
        )

    def echoed(self, *turns: Body, **members: Any) -> Body:
        """Return the body that reached the provider."""
        said = {"role": "user", "content": ECHO}
        answer = self.ask(messages=[*turns, said], **members)
        body: Body = json.loads(json.loads(text_of(message_of(answer)))["body_text"])
        return body


def message_of(answer: Answer) -> Body:
    """Return the message, put together by its events if it was streamed."""
    assert answer.status == 200, answer.body
    if not answer.headers["content-type"].startswith("text/event-stream"):
        message: Body = answer.json
        return message
    return put_together(events_of(answer))


def events_of(answer: Answer) -> list[Body]:
    """Return the events of a stream. Each says its name twice, and nothing else is there."""
    events = []
    for frame in answer.frames:
        name, data = frame.split("\n")
        event = json.loads(data.removeprefix("data: "))
        assert name == f"event: {event['type']}"
        events.append(event)
    return events


def put_together(events: list[Body]) -> Body:
    """Return the message that the events of a whole stream come to."""
    spoken = [event for event in events if event["type"] != "ping"]
    assert spoken[0]["type"] == "message_start"
    assert spoken[-1]["type"] == "message_stop"
    message: Body = spoken[0]["message"]
    assert message["content"] == []
    arguments: dict[int, str] = {}
    for event in spoken[1:-1]:
        match event["type"]:
            case "content_block_start":
                assert event["index"] == len(message["content"])
                message["content"].append(event["content_block"])
            case "content_block_delta":
                block, delta = message["content"][event["index"]], event["delta"]
                if delta["type"] == "input_json_delta":
                    said = arguments.get(event["index"], "")
                    arguments[event["index"]] = said + delta["partial_json"]
                elif delta["type"] == "citations_delta":
                    block.setdefault("citations", []).append(delta["citation"])
                elif delta["type"] == "signature_delta":
                    block["signature"] = delta["signature"]
                else:
                    name = delta["type"].removesuffix("_delta")
                    block[name] += delta[name]
            case "message_delta":
                message["usage"] |= event["usage"]
                message |= event["delta"]
                message |= {name: event[name] for name in event.keys() - OF_DELTA}
    for index, said in arguments.items():
        message["content"][index]["input"] = read_input(said, message)
    return message


def read_input(said: str, message: Body) -> Any:
    """Return the input of a tool. The limit may have cut it off."""
    try:
        return json.loads(said)
    except ValueError:
        assert message["stop_reason"] == "max_tokens", said
        return {}


def text_of(message: Body) -> str:
    return "".join(block["text"] for block in message["content"] if block["type"] == "text")


def kinds_of(message: Body) -> list[str]:
    return [block["type"] for block in message["content"]]
