"""OpenAI's chat-completions dialect as a provider writes it: bodies, chunks, usage, errors."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import msgspec

from tests.fakes.asked import Chat
from tests.fakes.book import Entry
from tests.fakes.generation import Step
from tests.fakes.script import Script

encode = msgspec.json.encode
LEFT_OUT = msgspec.Raw(b"")
SIGNATURE = "c2lnbmVkIGJ5IHRoZSBmYWtl"


def usage_of(script: Script, entry: Entry) -> Any:
    """Return the usage to report, true or as the script falsifies it; LEFT_OUT for none at all."""
    usage: dict[str, Any] = {
        "prompt_tokens": entry.prompt_tokens,
        "completion_tokens": entry.completion_tokens,
        "total_tokens": entry.prompt_tokens + entry.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": entry.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": entry.reasoning_tokens},
    }
    if entry.cache_write_tokens:
        usage["prompt_tokens_details"]["cache_write_tokens"] = entry.cache_write_tokens
    how, _, value = script.usage.partition(":")
    if how == "none":
        return LEFT_OUT
    if how == "null":
        return None
    if how == "raw":
        return msgspec.Raw(value.encode())
    if how == "wrong":
        usage["completion_tokens"] = msgspec.Raw(value.encode())
    if how == "apart":  # as xAI has it
        usage["completion_tokens"] -= entry.reasoning_tokens
    if how == "zero":
        usage = dict.fromkeys(("prompt_tokens", "completion_tokens", "total_tokens"), 0)
    return usage


class Writer:
    """Writes one answer's JSON: the members that stay the same are written once."""

    def __init__(self, chat: Chat, script: Script, serial: int) -> None:
        self.chat = chat
        self.script = script
        self._id = f"chatcmpl-{serial:016x}"
        self._model = script.model or chat.model
        self._created = int(time.time())
        self._head = (
            f'{{"id":"{self._id}","object":"chat.completion.chunk","created":{self._created},'
            f'"model":{encode(self._model).decode()},"system_fingerprint":"fp_fake","choices":'
        ).encode()
        self._tail = b',"usage":null}' if chat.wants_usage else b"}"

    def chunk(self, choice: int, delta: bytes, *, finish: str = "", logprobs: Any = None) -> bytes:
        """Return a streamed chunk; `finish` "null" is JSON's null, as is none."""
        reason = encode(finish).decode() if finish not in ("", "null") else "null"
        return b"%b[{%b,%b,%b,%b}]%b" % (
            self._head,
            b'"index":%d' % choice,
            b'"delta":' + delta,
            b'"logprobs":' + encode(logprobs),
            b'"finish_reason":' + reason.encode(),
            self._tail,
        )

    def step_chunk(self, choice: int, steps: list[Step]) -> bytes:
        """Return the chunk that says these steps, which are all of one kind."""
        return self.chunk(choice, self._delta(steps), logprobs=self._logprobs(steps))

    def usage_chunk(self, usage: Any) -> bytes:
        return self._head + b'[],"usage":' + encode(usage) + b"}"

    def _delta(self, steps: list[Step]) -> bytes:
        kind, text, tool = steps[0].kind, "".join(step.text for step in steps), steps[0].tool
        if kind == "content":
            return b'{"content":' + encode(text) + b"}"
        if kind == "reasoning":
            return encode(self._thought(text))
        call: dict[str, Any] = {"index": tool, "function": {"arguments": text}}
        if kind == "tool":
            call |= {"id": f"call_{tool}", "type": "function"}
            call["function"] = {"name": text, "arguments": ""}
        return encode({"tool_calls": [call]})

    def _thought(self, text: str) -> dict[str, Any]:
        """Return the members that say a piece of reasoning, the last one with the signature."""
        if self.script.reasoning_field == "content":  # as Mistral has it
            return {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": text}]}]}
        said: dict[str, Any] = {self.script.reasoning_field: text}
        if self.script.details:
            entry = {"type": "reasoning.text", "format": "anthropic-claude-v1", "index": 0}
            said["reasoning_details"] = [entry | {"text": text}]
            if text.endswith(f"think{self.script.reasoning - 1} "):
                said["reasoning_details"].append(entry | {"signature": SIGNATURE})
        return said

    def _logprobs(self, steps: Iterable[Step]) -> Any:
        if not self.chat.logprobs:
            return None
        words = [step.text for step in steps if step.kind == "content"]
        return {
            "content": [
                _logprob(word) | {"top_logprobs": [_logprob(word)] * (self.chat.top_logprobs or 0)}
                for word in words
            ],
            "refusal": None,
        }

    def body(self, steps: list[Step], finish: str, usage: Any) -> bytes:
        """Return the whole buffered answer."""
        message: dict[str, Any] = {
            "role": "assistant",
            "content": "".join(step.text for step in steps if step.kind == "content"),
            "refusal": None,
        }
        reasoning = "".join(step.text for step in steps if step.kind == "reasoning")
        if reasoning:
            text = message["content"]
            message |= self._thought(reasoning)
            if isinstance(message["content"], list):
                message["content"].append({"type": "text", "text": text})
        calls = _tool_calls(steps)
        if calls:
            message |= {"content": None, "tool_calls": calls}
        choice = {
            "message": message,
            "logprobs": self._logprobs(steps),
            "finish_reason": None if finish == "null" else finish,
        }
        answer: dict[str, Any] = {
            "id": self._id,
            "object": "chat.completion",
            "created": self._created,
            "model": self._model,
            "choices": [{"index": i} | choice for i in range(self.chat.n or 1)],
            "system_fingerprint": "fp_fake",
        }
        if usage is not LEFT_OUT:
            answer["usage"] = usage
        return encode(answer)


def _logprob(word: str) -> dict[str, Any]:
    return {"token": word, "logprob": -0.125, "bytes": list(word.encode())}


def _tool_calls(steps: list[Step]) -> list[dict[str, Any]]:
    calls: list[dict[str, Any]] = []
    for step in steps:
        if step.kind == "tool":
            function = {"name": step.text, "arguments": ""}
            calls.append({"id": f"call_{step.tool}", "type": "function", "function": function})
        elif step.kind == "args":
            calls[step.tool]["function"]["arguments"] += step.text
    return calls


def refusal(script: Script) -> tuple[bytes, str]:
    """Return the body of a scripted error status, and its content type."""
    error = {
        "message": script.message,
        "type": "server_error" if script.fail >= 500 else "invalid_request_error",
        "param": None,
        "code": script.code,
    }
    page = f"<html><body><h1>{script.fail}</h1><p>{script.message}</p></body></html>"
    kinds: dict[str, tuple[bytes, str]] = {
        "json": (encode({"error": error}), "application/json"),
        "html": (page.encode(), "text/html; charset=utf-8"),
        "text": (script.message.encode(), "text/plain"),
        "empty": (b"", "application/json"),
        "null": (b'{"error": null}', "application/json"),
        "array": (encode([{"error": error}]), "application/json"),
        "bare": (encode({"detail": script.message}), "application/json"),
        "broken": (b'{"error": {"mess', "application/json"),
    }
    return kinds[script.body]
