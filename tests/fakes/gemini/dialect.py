"""The Gemini API as the fake upstream writes it: answers, whole or a piece each, with the counts.

Reference: ai.google.dev/api/generate-content. What is written is judged by the SDK's types on its
way out, unless the script falsifies it.
"""

from __future__ import annotations

import base64
from typing import Any

import msgspec

from tests.fakes.asked import Chat
from tests.fakes.book import Entry
from tests.fakes.gemini.models import read_model
from tests.fakes.gemini.sdk_types import FINISH_REASONS, judge_answer
from tests.fakes.generation import Step
from tests.fakes.script import Script

# What a generation ends with, in this dialect's words. A script may name the dialect's own.
STOP = {"stop": "STOP", "length": "MAX_TOKENS", "tool_calls": "STOP", "null": None}


class GeminiWriter:
    """Writes one answer's JSON."""

    def __init__(
        self, chat: Chat, script: Script, entry: Entry, serial: int, *, tells_thoughts: bool
    ) -> None:
        self._chat = chat
        self._script = script
        self._entry = entry
        self._serial = serial
        self._tells_thoughts = tells_thoughts
        self._signs = read_model(chat.model).signs_calls
        self._is_judged = not script.usage and (script.finish or "STOP") in FINISH_REASONS

    def usage(self) -> Any:
        """Return the usage so far, true or as the script falsifies it; UNSET for none."""
        entry, script = self._entry, self._script
        said = entry.completion_tokens - entry.reasoning_tokens
        usage: dict[str, Any] = {
            "promptTokenCount": entry.prompt_tokens,
            "candidatesTokenCount": said,
            "totalTokenCount": entry.prompt_tokens + entry.completion_tokens,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": entry.prompt_tokens}],
        }
        if entry.cached_tokens:
            usage["cachedContentTokenCount"] = entry.cached_tokens
        if entry.reasoning_tokens:
            usage["thoughtsTokenCount"] = entry.reasoning_tokens
        how, _, value = script.usage.partition(":")
        falsified: dict[str, Any] = {
            "none": msgspec.UNSET,
            "null": None,
            "raw": msgspec.Raw(value.encode()),
            "wrong": usage | {"candidatesTokenCount": msgspec.Raw(value.encode())},
            "zero": {"promptTokenCount": 0, "totalTokenCount": 0},
        }
        return falsified.get(how, usage)

    def signature(self, tool: int = -1) -> str:
        """Return the signature of a call; without one, that of the text."""
        return base64.b64encode(f"signed {self._serial} {tool}".encode()).decode()

    def parts(self, steps: list[Step]) -> list[dict[str, Any]]:
        """Return what these steps say, neighbours of a kind as one part."""
        parts: list[dict[str, Any]] = []
        for kind in ("reasoning", "content"):
            text = "".join(step.text for step in steps if step.kind == kind)
            if text and (kind == "content" or self._tells_thoughts):
                parts.append({"text": text} | ({"thought": True} if kind == "reasoning" else {}))
        for head in (step for step in steps if step.kind == "tool"):
            pieces = (s.text for s in steps if (s.kind, s.tool) == ("args", head.tool))
            parts.append(self.call(head, "".join(pieces)))
        return parts

    def call(self, head: Step, arguments: str) -> dict[str, Any]:
        call: dict[str, Any] = {"name": head.text, "args": _read_args(arguments)}
        if not self._signs:  # older models do not number their calls
            return {"functionCall": call}
        call["id"] = f"fc_{self._serial}_{head.tool}"
        signed = {"thoughtSignature": self.signature(head.tool)} if head.tool == 0 else {}
        return {"functionCall": call} | signed

    def last_parts(self, steps: list[Step]) -> list[dict[str, Any]]:
        """Return the part that has the signature of a text: models sign what they have thought."""
        calls = any(step.kind == "tool" for step in steps)
        thought = any(step.kind == "reasoning" for step in steps)
        if not self._signs or calls or not thought:
            return []
        return [{"text": "", "thoughtSignature": self.signature()}]

    def logprobs(self, steps: list[Step]) -> dict[str, Any] | None:
        words = [step.text for step in steps if step.kind == "content"]
        if not self._chat.logprobs or not words:
            return None
        chosen = [{"token": word, "tokenId": 7, "logProbability": -0.125} for word in words]
        tops = [{"candidates": [each] * (self._chat.top_logprobs or 1)} for each in chosen]
        return {"chosenCandidates": chosen, "topCandidates": tops}

    def response(
        self, parts: list[dict[str, Any]], finish: str = "", logprobs: Any = None
    ) -> dict[str, Any]:
        """Return an answer of each candidate saying the same."""
        candidates = []
        for index in range(self._chat.n or 1):
            candidate: dict[str, Any] = {"index": index}
            if parts:
                candidate["content"] = {"parts": parts, "role": "model"}
            if finish and STOP.get(finish, finish) is not None:
                candidate["finishReason"] = STOP.get(finish, finish)
            if logprobs is not None:
                candidate["logprobsResult"] = logprobs
            candidates.append(candidate)
        return self._around({"candidates": candidates})

    def blocked(self) -> dict[str, Any]:
        """Return the answer to a prompt that is not to be answered."""
        return self._around({"promptFeedback": {"blockReason": self._script.blocked}})

    def _around(self, response: dict[str, Any]) -> dict[str, Any]:
        model = self._script.model or self._chat.model
        response |= {"modelVersion": model, "responseId": f"resp{self._serial:016x}"}
        usage = self.usage()
        return response if usage is msgspec.UNSET else response | {"usageMetadata": usage}

    def encode(self, response: dict[str, Any]) -> bytes:
        if self._is_judged:
            judge_answer(response)
        return msgspec.json.encode(response)


def _read_args(text: str) -> Any:
    """Return the arguments of a call. What was cut off by a limit is left empty."""
    try:
        return msgspec.json.decode(text or "{}")
    except msgspec.DecodeError:
        return {}
