"""Converse as the fake upstream writes it: whole answers, events of a stream, usage.

Reference: docs.aws.amazon.com bedrock/latest/APIReference/API_runtime_ConverseStream. What is
written is judged by botocore's model on its way out, unless the script falsifies it.
"""

from __future__ import annotations

import base64
from typing import Any

import msgspec

from tests.fakes.bedrock.service_model import judge_answer, judge_event, service
from tests.fakes.book import Entry
from tests.fakes.generation import Step
from tests.fakes.script import Script
from tests.support.event_stream import write_event

STOP = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}
REDACTED = base64.b64encode(b"EncryptedThought").decode()
# Real events have a member of random length, so that nobody learns from their sizes.
PADDING = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


class ConverseWriter:
    """Writes one answer."""

    def __init__(self, script: Script, entry: Entry, serial: int) -> None:
        self._script = script
        self._entry = entry
        self._serial = serial
        known = service().shape_for("StopReason").enum
        self._is_judged = not script.usage and (not script.finish or script.finish in known)

    @property
    def signature(self) -> str:
        return f"EqQBCgIYAhIM{self._serial:012x}"

    def usage(self) -> Any:
        """Return the usage to report, true or as the script falsifies it; UNSET for none."""
        entry, script = self._entry, self._script
        usage: dict[str, Any] = {
            "inputTokens": entry.prompt_tokens - entry.cached_tokens - entry.cache_write_tokens,
            "outputTokens": entry.completion_tokens,
            "totalTokens": entry.prompt_tokens + entry.completion_tokens,
            "cacheReadInputTokens": entry.cached_tokens,
            "cacheWriteInputTokens": entry.cache_write_tokens,
        }
        for_an_hour = entry.cache_write_1h_tokens
        if entry.cache_write_tokens:
            usage["cacheDetails"] = [
                {"ttl": "1h", "inputTokens": for_an_hour},
                {"ttl": "5m", "inputTokens": entry.cache_write_tokens - for_an_hour},
            ]
        how, _, value = script.usage.partition(":")
        falsified: dict[str, Any] = {
            "none": msgspec.UNSET,
            "null": None,
            "raw": msgspec.Raw(value.encode()),
            "wrong": usage | {"outputTokens": msgspec.Raw(value.encode())},
            "zero": dict.fromkeys(("inputTokens", "outputTokens", "totalTokens"), 0),
        }
        return falsified.get(how, usage)

    def stop_reason(self, finish: str) -> str:
        return STOP.get(finish, finish)

    def body(self, steps: list[Step], finish: str, usage: Any) -> bytes:
        """Return the whole buffered answer."""
        message = {"role": "assistant", "content": self._blocks(steps)}
        answer: dict[str, Any] = {
            "output": {"message": message},
            "stopReason": self.stop_reason(finish),
            "metrics": {"latencyMs": 12},
        }
        if usage is not msgspec.UNSET:
            answer["usage"] = usage
        if self._is_judged:
            judge_answer(answer)
        return msgspec.json.encode(answer)

    def event(self, name: str, payload: dict[str, Any]) -> bytes:
        if self._is_judged:
            judge_event({name: payload})
        padded = payload | {"p": PADDING[: 1 + self._serial % len(PADDING)]}
        return write_event(name, msgspec.json.encode(padded))

    def start_of(self, step: Step) -> dict[str, Any] | None:
        """Return what a block that this step begins starts with; nothing but calls has that."""
        if step.kind != "tool":
            return None
        return {"toolUse": {"toolUseId": self._tool_id(step), "name": step.text}}

    def delta_of(self, steps: list[Step]) -> dict[str, Any] | None:
        """Return what these steps, all of one kind, add to their block."""
        kind, text = steps[0].kind, "".join(step.text for step in steps)
        deltas: dict[str, dict[str, Any]] = {
            "content": {"text": text},
            "reasoning": {"reasoningContent": {"text": text}},
            "args": {"toolUse": {"input": text}},
        }
        return deltas.get(kind)

    def _tool_id(self, step: Step) -> str:
        return f"tooluse_{self._serial:022x}{step.tool:02x}"

    def _blocks(self, steps: list[Step]) -> list[dict[str, Any]]:
        blocks: list[dict[str, Any]] = []
        if self._script.redacted:
            blocks.append({"reasoningContent": {"redactedContent": REDACTED}})
        if thought := "".join(step.text for step in steps if step.kind == "reasoning"):
            said = {"text": thought, "signature": self.signature}
            blocks.append({"reasoningContent": {"reasoningText": said}})
        if text := "".join(step.text for step in steps if step.kind == "content"):
            blocks.append({"text": text})
        for head in (step for step in steps if step.kind == "tool"):
            pieces = (s.text for s in steps if (s.kind, s.tool) == ("args", head.tool))
            call = {"toolUseId": self._tool_id(head), "name": head.text}
            blocks.append({"toolUse": call | {"input": _read_input("".join(pieces))}})
        return blocks


def _read_input(text: str) -> Any:
    """Return the arguments of a call. What was cut off by the limit is left empty."""
    try:
        return msgspec.json.decode(text or "{}")
    except msgspec.DecodeError:
        return {}
