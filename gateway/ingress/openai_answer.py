"""POST /chat/completions, outbound: our events to OpenAI's chunks, answers and errors.

Every frame is a full chunk object on one `data:` line, written whole; `id`, `created` and
`model` never change within a stream. Usage rides on the finish chunk unless the caller asked
for include_usage, which gets the usual trailing chunk (gateway contract, C-06 `auto`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from gateway.core.errors import GatewayError
from gateway.core.events import Answer, Delta, Finish, Reported
from gateway.core.money import Usage, credits_used, usd
from gateway.core.receipt import Receipt

DONE = b"data: [DONE]\n\n"
KEEP_ALIVE = b": keep-alive\n\n"
_encode = msgspec.json.encode


def write_usage(usage: Usage, charge_nusd: int) -> dict[str, Any]:
    """Return the `usage` object: OpenAI's members and the cost in USD."""
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "cost": usd(charge_nusd),
    }


def both_reasonings(members: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the members with reasoning under both of its names, when there is any."""
    reasoning = members.get("reasoning")
    if reasoning is None:
        return members
    return {**members, "reasoning_content": reasoning}


class ChunkWriter:
    """Writes one stream. Holds finish chunks back until the cost is known."""

    def __init__(self, *, call_id: str, model: str, created: int, include_usage: bool | None):
        head = {
            "id": f"chatcmpl-{call_id}",
            "object": "chat.completion.chunk",
            "created": created,
            "model": model,
        }
        # Everything up to the choices is the same in every frame: encoded once.
        self._head = b"data: " + _encode(head)[:-1] + b","
        self._tail = b',"usage":null}\n\n' if include_usage else b"}\n\n"
        self._include_usage = include_usage
        self._extras: dict[str, Any] = {}
        self._has_role: set[int] = set()
        self._held: list[Finish] = []
        self._call_id = call_id

    @property
    def is_open(self) -> bool:
        """True once the role frame has been made."""
        return bool(self._has_role)

    def open(self) -> bytes:
        """Return the role frame that every stream begins with."""
        return self._open_choice(0)

    def _open_choice(self, index: int) -> bytes:
        self._has_role.add(index)
        return self._frame(
            [{"index": index, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}]
        )

    def _frame(self, choices: list[dict[str, Any]]) -> bytes:
        return self._head + b'"choices":' + _encode(choices) + self._tail

    def write(self, event: Delta | Finish | Reported) -> bytes:
        """Return the frames this event amounts to, possibly none."""
        if isinstance(event, Delta):
            return self._write_delta(event)
        if isinstance(event, Finish):
            self._held.append(event)
        else:
            self._extras.update(event.extras)
        return b""

    def _write_delta(self, event: Delta) -> bytes:
        role = b"" if event.index in self._has_role else self._open_choice(event.index)
        choice: dict[str, Any] = {
            "index": event.index,
            "delta": both_reasonings(event.members),
            "finish_reason": None,
        }
        if event.logprobs is not None:
            choice["logprobs"] = event.logprobs
        return role + self._frame([choice])

    def close(self, receipt: Receipt) -> list[bytes]:
        """Return the last frames: finish, usage, [DONE]. Each is to be written by itself."""
        frames = []
        for position, finish in enumerate(self._held):
            is_last = position == len(self._held) - 1
            frames.append(self._write_finish(finish, receipt if is_last else None))
        if self._include_usage:
            tail = {
                "choices": [],
                **self._extras,
                "usage": write_usage(receipt.usage, receipt.charge_nusd),
                "credits_used": credits_used(receipt.charge_nusd),
            }
            frames.append(self._head + _encode(tail)[1:] + b"\n\n")
        frames.append(DONE)
        return frames

    def _write_finish(self, finish: Finish, receipt: Receipt | None) -> bytes:
        role = b"" if finish.index in self._has_role else self._open_choice(finish.index)
        choice: dict[str, Any] = {
            "index": finish.index,
            "delta": {},
            "finish_reason": finish.reason,
        }
        if finish.logprobs is not None:
            choice["logprobs"] = finish.logprobs
        body: dict[str, Any] = {"choices": [choice], **self._extras}
        if self._include_usage:
            body["usage"] = None
        elif receipt is not None and self._include_usage is None:
            body["usage"] = write_usage(receipt.usage, receipt.charge_nusd)
            body["credits_used"] = credits_used(receipt.charge_nusd)
        return role + self._head + _encode(body)[1:] + b"\n\n"

    def fail(self, error: GatewayError) -> bytes:
        """Return the frame that ends a stream which cannot go on, and [DONE] (C-26)."""
        body = {
            "choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}],
            "error": write_error(error, self._call_id)["error"],
        }
        return self._head + _encode(body)[1:] + b"\n\n" + DONE


def write_answer(
    answer: Answer, receipt: Receipt, *, call_id: str, model: str, created: int
) -> bytes:
    """Return the body of a buffered answer (gateway contract, section 7.1)."""
    choices = [
        {
            "index": choice.index,
            "message": both_reasonings(choice.message),
            "finish_reason": choice.finish_reason,
            "logprobs": choice.logprobs,
        }
        for choice in answer.choices
    ]
    return _encode(
        {
            "id": f"chatcmpl-{call_id}",
            "object": "chat.completion",
            "created": created,
            "model": model,
            "choices": choices,
            **answer.extras,
            "usage": write_usage(receipt.usage, receipt.charge_nusd),
            "timings": write_timings(receipt),
            "credits_used": credits_used(receipt.charge_nusd),
        }
    )


def write_timings(receipt: Receipt) -> dict[str, int | float]:
    """Return `timings` (gateway contract, section 7.4): the parts add up to total_ms."""
    total_ms = round(receipt.total_us / 1000)
    upstream_ms = min(round(receipt.upstream_us / 1000), total_ms)
    timings: dict[str, int | float] = {"total_ms": total_ms, "upstream_ms": upstream_ms}
    tokens = receipt.usage.completion_tokens
    if tokens > 0 and upstream_ms > 0:
        timings["tokens_per_second"] = round(tokens * 1000 / upstream_ms, 2)
    queued_ms = min(round(receipt.queued_us / 1000), total_ms - upstream_ms)
    if queued_ms:
        timings["queued_ms"] = queued_ms
    gateway_ms = total_ms - upstream_ms - queued_ms
    if gateway_ms:
        timings["gateway_ms"] = gateway_ms
    return timings


def write_error(error: GatewayError, request_id: str) -> dict[str, Any]:
    """Return the body of an error (gateway contract, section 7.5.1)."""
    body: dict[str, Any] = {
        "message": error.message,
        "type": error.type,
        "code": error.code,
        "param": error.param,
        "request_id": request_id,
    }
    if error.details:
        body["details"] = error.details
    return {"error": body}
