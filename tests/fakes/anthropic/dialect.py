"""The Messages API as the fake upstream writes it: whole answers, events of a stream, usage.

Reference: platform.claude.com docs/en/api/messages and docs/en/build-with-claude/streaming. What
is written is judged by the SDK's types on its way out, unless the script falsifies it.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from typing import Any

import msgspec

from tests.fakes.anthropic.sdk_types import STOP_REASONS, judge_answer, judge_event
from tests.fakes.asked import Chat
from tests.fakes.book import Entry
from tests.fakes.generation import Step
from tests.fakes.script import Script

# What a generation ends with, in this dialect's words. A script may name the dialect's own.
STOP = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "null": None}
STARTS: dict[str, dict[str, Any]] = {
    "content": {"type": "text", "text": ""},
    "reasoning": {"type": "thinking", "thinking": "", "signature": ""},
}
REDACTED = {"type": "redacted_thinking", "data": "RW5jcnlwdGVkVGhvdWdodA=="}
CITATIONS: dict[str, dict[str, Any]] = {
    "page": {
        "type": "page_location",
        "cited_text": "Sun.",
        "document_index": 0,
        "document_title": "Weather",
        "start_page_number": 1,
        "end_page_number": 2,
    },
    "char": {
        "type": "char_location",
        "cited_text": "Sun.",
        "document_index": 0,
        "document_title": None,
        "start_char_index": 0,
        "end_char_index": 4,
    },
    "web": {
        "type": "web_search_result_location",
        "cited_text": "Sun.",
        "encrypted_index": "c2VjcmV0",
        "title": "Weather",
        "url": "https://example.com/weather",
    },
}
JUDGED_APART = ("ping", "error")  # no part of the SDK's type for events


class MessagesWriter:
    """Writes one answer's JSON."""

    def __init__(self, chat: Chat, script: Script, entry: Entry, serial: int) -> None:
        self._chat = chat
        self._script = script
        self._entry = entry
        self._serial = serial
        self._id = f"msg_{serial:024x}"
        self._model = script.model or chat.model
        self._is_judged = not script.usage and (script.finish or "end_turn") in STOP_REASONS

    @property
    def request_id(self) -> str:
        return f"req_{self._serial:024x}"

    def usage(self, *, is_first: bool = False) -> Any:
        """Return the usage to report, true or as the script falsifies it; LEFT_OUT for none.

        is_first: as it stands in message_start, when next to nothing has been generated.
        """
        entry, script = self._entry, self._script
        usage: dict[str, Any] = {
            "input_tokens": entry.prompt_tokens - entry.cached_tokens - entry.cache_write_tokens,
            "cache_creation_input_tokens": entry.cache_write_tokens,
            "cache_read_input_tokens": entry.cached_tokens,
            "output_tokens": 1 if is_first else entry.completion_tokens,
        }
        if is_first or not entry.stream:
            usage["cache_creation"] = {
                "ephemeral_5m_input_tokens": entry.cache_write_tokens - entry.cache_write_1h_tokens,
                "ephemeral_1h_input_tokens": entry.cache_write_1h_tokens,
            }
        if not is_first:
            thought = {"thinking_tokens": entry.reasoning_tokens}
            usage["output_tokens_details"] = thought if entry.reasoning_tokens else None
        how, _, value = script.usage.partition(":")
        falsified: dict[str, Any] = {
            "none": msgspec.UNSET,
            "null": None,
            "raw": msgspec.Raw(value.encode()),
            "wrong": usage | {"output_tokens": msgspec.Raw(value.encode())},
            "zero": dict.fromkeys(("input_tokens", "output_tokens"), 0),
        }
        return falsified.get(how, usage)

    def message(self, blocks: list[dict[str, Any]], stop: str | None, usage: Any) -> dict[str, Any]:
        message = {
            "id": self._id,
            "type": "message",
            "role": "assistant",
            "model": self._model,
            "content": blocks,
            "stop_reason": stop,
            "stop_sequence": "END" if stop == "stop_sequence" else None,
        }
        return message if usage is msgspec.UNSET else message | {"usage": usage}

    def stop_reason(self, finish: str) -> str | None:
        return STOP.get(finish, finish)

    def body(self, steps: list[Step], finish: str, usage: Any) -> bytes:
        """Return the whole buffered answer."""
        answer = self.message(self._blocks(steps), self.stop_reason(finish), usage)
        if self._is_judged:
            judge_answer(answer)
        return msgspec.json.encode(answer)

    def event(self, event: dict[str, Any]) -> bytes:
        if self._is_judged and event["type"] not in JUDGED_APART:
            judge_event(event)
        return msgspec.json.encode(event)

    def start_of(self, step: Step) -> dict[str, Any]:
        """Return the empty block that this step begins."""
        if step.kind != "tool":
            return STARTS[step.kind]
        return {"type": "tool_use", "id": self._tool_id(step), "name": step.text, "input": {}}

    def delta_of(self, steps: list[Step]) -> dict[str, Any]:
        """Return what these steps, all of one kind, add to their block."""
        kind, text = steps[0].kind, "".join(step.text for step in steps)
        if kind == "content":
            return {"type": "text_delta", "text": text}
        if kind == "reasoning":
            return {"type": "thinking_delta", "thinking": text}
        return {"type": "input_json_delta", "partial_json": "" if kind == "tool" else text}

    def _tool_id(self, step: Step) -> str:
        return f"toolu_{self._serial:022x}{step.tool:02x}"

    def _blocks(self, steps: list[Step]) -> list[dict[str, Any]]:
        thought = "".join(step.text for step in steps if step.kind == "reasoning")
        text = "".join(step.text for step in steps if step.kind == "content")
        blocks: list[dict[str, Any]] = [REDACTED] if self._script.redacted else []
        if thought:
            signature = signature_of(thought)
            blocks.append({"type": "thinking", "thinking": thought, "signature": signature})
        if text:
            cited = {"citations": [CITATIONS[self._script.cites]]} if self._script.cites else {}
            blocks.append({"type": "text", "text": text} | cited)
        for head in (step for step in steps if step.kind == "tool"):
            pieces = (s.text for s in steps if (s.kind, s.tool) == ("args", head.tool))
            blocks.append(self.start_of(head) | {"input": _read_input("".join(pieces))})
        return blocks


def signature_of(thought: str) -> str:
    """Return what proves that the text is as it was written."""
    return b64encode(sha256(f"signed: {thought}".encode()).digest()).decode()


def _read_input(text: str) -> Any:
    """Return the arguments of a call. What was cut off by max_tokens is left empty."""
    try:
        return msgspec.json.decode(text or "{}")
    except msgspec.DecodeError:
        return {}
