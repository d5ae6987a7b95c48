"""Text Generation Inference as the fake upstream plays it: what it refuses, and how it answers.

Sources: docs/openapi.json, router/src/lib.rs, chat.rs and validation.rs of
huggingface/text-generation-inference. The server passes over members that it does not know, and
over the calls of a message that has text; here they are refused, as what is lost in silence is a
fault of whoever sent it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from tests.fakes.asked import Chat, Request
from tests.fakes.book import Entry
from tests.fakes.dialect import Writer
from tests.fakes.generation import Step
from tests.fakes.outgoing import Link
from tests.fakes.player import Player
from tests.fakes.refused import Refused
from tests.fakes.script import Script

MEMBERS = frozenset(
    {
        *("model", "messages", "frequency_penalty", "logprobs", "top_logprobs", "max_tokens"),
        *("presence_penalty", "stop", "stream", "seed", "temperature", "top_p", "tools"),
        *("tool_prompt", "tool_choice", "response_format", "guideline", "stream_options"),
    }
)
MESSAGE_MEMBERS = frozenset({"role", "content", "name", "tool_calls", "tool_call_id"})
USAGE = ("prompt_tokens", "completion_tokens", "total_tokens")
MOST_STOPS = 4


def refuse_body(body: dict[str, Any]) -> None:
    """Raise Refused for the first thing that the server would not take, or not do."""
    if extra := body.keys() - MEMBERS:
        raise Refused(f"unknown field: {', '.join(sorted(extra))}")
    form = body.get("response_format")
    if form is not None and (form.get("type") not in ("json", "regex") or "value" not in form):
        raise Refused("response_format: missing field `value`")
    if form is not None and body.get("tools"):
        raise Refused("Grammar and tools are mutually exclusive")
    if not 0 < body.get("top_p", 0.5) < 1:
        raise Refused("`top_p` must be > 0.0 and < 1.0")
    stops = body.get("stop") or []
    if not isinstance(stops, list):
        raise Refused(f"stop: invalid type: string {stops!r}, expected a sequence")
    if len(stops) > MOST_STOPS:
        raise Refused(f"`stop` supports up to {MOST_STOPS} stop sequences. Given: {len(stops)}")
    for message in body["messages"]:
        _refuse_message(message)


def _refuse_message(message: dict[str, Any]) -> None:
    if message["role"] == "developer":
        raise Refused("Template error: unknown role developer")
    if extra := message.keys() - MESSAGE_MEMBERS:
        raise Refused(f"messages: unknown field: {', '.join(sorted(extra))}")
    content = message.get("content")
    if (content is None) == (not message.get("tool_calls")):
        raise Refused("messages: data did not match any variant of untagged enum MessageBody")
    for part in content if isinstance(content, list) else ():
        if part["type"] not in ("text", "image_url"):
            raise Refused(f"messages: unknown variant `{part['type']}`")
        if extra := part.keys() - {"type", part["type"]}:
            raise Refused(f"messages: unknown field: {', '.join(sorted(extra))}")


def error_body(message: str, kind: str = "validation") -> dict[str, str]:
    return {"error": message, "error_type": kind}


class TgiWriter(Writer):
    """Arguments of calls are objects, a delta has one call and no list, and calls end with stop."""

    def chunk(self, choice: int, delta: bytes, *, finish: str = "", logprobs: Any = None) -> bytes:
        said = "stop" if finish == "tool_calls" else finish
        return super().chunk(choice, delta, finish=said, logprobs=logprobs)

    def step_chunk(self, choice: int, steps: list[Step]) -> bytes:
        data = super().step_chunk(choice, steps)
        if steps[0].kind not in ("tool", "args"):
            return data
        chunk = msgspec.json.decode(data)
        delta = chunk["choices"][0]["delta"]
        [delta["tool_calls"]] = delta["tool_calls"]
        return msgspec.json.encode(chunk)

    def usage_chunk(self, usage: Any) -> bytes:
        return super().usage_chunk(_whole_counts(usage))

    def body(self, steps: list[Step], finish: str, usage: Any) -> bytes:
        said = "stop" if finish == "tool_calls" else finish
        answer = msgspec.json.decode(super().body(steps, said, _whole_counts(usage)))
        for choice in answer["choices"]:
            for call in choice["message"].get("tool_calls", ()):
                function = call["function"]
                function["arguments"] = msgspec.json.decode(function["arguments"] or "{}")
        return msgspec.json.encode(answer)


def _whole_counts(usage: Any) -> Any:
    """Return the usage without the shares of its counts."""
    return {name: usage[name] for name in USAGE} if isinstance(usage, dict) else usage


class TgiPlayer(Player):
    """One answer to one request."""

    def __init__(
        self, link: Link, request: Request, chat: Chat, script: Script, entry: Entry, serial: int
    ) -> None:
        super().__init__(link, request, chat, script, entry, serial)
        self._writer: Writer = TgiWriter(chat, script, serial)

    def _refusal_body(self) -> tuple[bytes, str]:
        if self._script.body != "json":
            return super()._refusal_body()
        kind = "validation" if self._script.code == "scripted" else self._script.code
        return msgspec.json.encode(error_body(self._script.message, kind)), "application/json"
