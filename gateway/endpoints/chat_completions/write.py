"""POST /chat/completions, outbound: our events to OpenAI's chunks, answers and errors.

Every frame is a full chunk object on one `data:` line, written whole, but for the error that ends
a broken stream; `id`, `created` and `model` never change within a stream. Where usage goes is the
profile's: see place_usage.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from gateway.core.errors import GatewayError
from gateway.core.events import Answer, Choice, Delta, Finish, UsageReported
from gateway.core.money import Usage, credits_used, usd
from gateway.core.profiles import Profile
from gateway.core.receipt import Receipt
from gateway.http.error_format import render_error

DONE = b"data: [DONE]\n\n"
KEEP_ALIVE = b": keep-alive\n\n"
MARKERS = ("system_fingerprint", "service_tier")
# Where the usage of a stream goes.
NOWHERE, ON_FINISH, AFTER_FINISH = "nowhere", "on_finish", "after_finish"
TRAILING, TWICE = "trailing", "twice"
# Nobody asked for the usage, so its chunk has a choice for the loops that read one in each chunk,
# and no finish_reason: one client passes over the reason of a chunk with usage, another joins
# the reasons of all chunks.
EMPTY_CHOICE: list[dict[str, Any]] = [{"index": 0, "delta": {}, "finish_reason": None}]
_encode = msgspec.json.encode


class Form(msgspec.Struct, frozen=True):
    """What every frame and answer of one call has in common. created: seconds.

    whole_credits: credits are shown rounded up to whole ones.
    """

    answer_id: str
    call_id: str
    model: str
    created: int
    profile: Profile
    episode_id: str = ""
    whole_credits: bool = False

    def credits(self, receipt: Receipt) -> float | int:
        """Return what the call has cost, in the credits that callers are told."""
        return credits_used(receipt.charge_nusd, whole=self.whole_credits)


def write_usage(usage: Usage, charge_nusd: int) -> dict[str, Any]:
    """Return the `usage` object: OpenAI's fields and the cost in USD."""
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "cost": usd(charge_nusd),
    }


def spell_reasoning(fields: Mapping[str, Any], profile: Profile) -> Mapping[str, Any]:
    """Return the fields with reasoning, when there is any, under the profile's names."""
    if "reasoning" not in fields:
        return fields
    reasoning = fields["reasoning"]
    others = {name: value for name, value in fields.items() if name != "reasoning"}
    return others | dict.fromkeys(profile.reasoning, reasoning)


def spell_extras(extras: Mapping[str, Any], profile: Profile) -> dict[str, Any]:
    """Return the provider's markers as the profile shows them."""
    if profile.markers == "given":
        return dict(extras)
    if profile.markers == "none":
        return {name: value for name, value in extras.items() if name not in MARKERS}
    return dict.fromkeys(MARKERS, "") | dict(extras)


def place_usage(mode: str, include_usage: bool | None) -> str:
    """Return where the usage of a stream goes, by the profile's mode and the caller's wish."""
    if mode == "separate":
        return TRAILING
    if mode == "two_chunk":
        return TWICE
    if mode == "on_finish":
        return ON_FINISH if include_usage else NOWHERE
    if include_usage:
        return TRAILING
    return AFTER_FINISH if mode == "auto" and include_usage is None else NOWHERE


class ChunkWriter:
    """Writes one stream. Holds finish chunks back until the cost is known.

    fallback: the model that was meant and how far from it the one is that serves, where the
    answer's head could not say so.
    """

    fallback: tuple[str, int] | None = None

    def __init__(self, form: Form, *, include_usage: bool | None) -> None:
        head = {
            "id": form.answer_id,
            "object": "chat.completion.chunk",
            "created": form.created,
            "model": form.model,
        }
        if form.episode_id:
            head["episode_id"] = form.episode_id
        # Everything up to the choices is the same in every frame: encoded once.
        self._head = b"data: " + _encode(head)[:-1] + b","
        self._tail = b',"usage":null}\n\n' if include_usage else b"}\n\n"
        self._before_delta = self._head + b'"choices":[{"index":0,"delta":'
        self._behind_delta = b',"finish_reason":null}]' + self._tail
        self._asks_for_usage = bool(include_usage)
        self._where = place_usage(form.profile.usage_mode, include_usage)
        self._profile = form.profile
        self._extras: dict[str, Any] = {}
        self._has_role: set[int] = set()
        self._held: dict[int, Finish] = {}
        self._call_id = form.call_id
        self._credits = form.credits

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

    def write(self, event: Delta | Finish | UsageReported) -> bytes:
        """Return the frames this event amounts to, possibly none."""
        if isinstance(event, Delta):
            fields = event.fields
            # Nearly every piece is text of the first choice.
            if (
                not event.index
                and event.logprobs is None
                and 0 in self._has_role
                and "reasoning" not in fields
            ):
                return self._before_delta + _encode(fields) + self._behind_delta
            return self._write_delta(event)
        if isinstance(event, Finish):
            self._held[event.index] = event
        else:
            self._extras.update(event.extras)
        return b""

    def _write_delta(self, event: Delta) -> bytes:
        role = b"" if event.index in self._has_role else self._open_choice(event.index)
        choice: dict[str, Any] = {
            "index": event.index,
            "delta": spell_reasoning(event.fields, self._profile),
            "finish_reason": None,
        }
        if event.logprobs is not None:
            choice["logprobs"] = event.logprobs
        return role + self._frame([choice])

    def close(self, receipt: Receipt) -> list[bytes]:
        """Return the last frames: finish, usage, [DONE]. Each is to be written by itself."""
        frames = []
        for position, finish in enumerate(self._held.values()):
            is_last = position == len(self._held) - 1
            frames.append(self._write_finish(finish, receipt if is_last else None))
        frames += self._write_trailing(receipt)
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
        body: dict[str, Any] = {"choices": [choice], **spell_extras(self._extras, self._profile)}
        if self._asks_for_usage and self._where != ON_FINISH:
            body["usage"] = None
        elif receipt is not None and self._where == ON_FINISH:
            body["usage"] = write_usage(receipt.usage, receipt.charge_nusd)
            body["credits_used"] = self._credits(receipt)
        if receipt is not None and self.fallback is not None:
            body["fallback"] = dict(zip(("from", "depth"), self.fallback, strict=True))
        return role + self._head + _encode(body)[1:] + b"\n\n"

    def _write_trailing(self, receipt: Receipt) -> list[bytes]:
        """Return the chunks behind the finish chunks that carry the usage."""
        if self._where in (NOWHERE, ON_FINISH):
            return []
        usage = write_usage(receipt.usage, receipt.charge_nusd)
        credit = {"credits_used": self._credits(receipt)}
        extras = spell_extras(self._extras, self._profile)
        choices = EMPTY_CHOICE if self._where == AFTER_FINISH else []
        plain: dict[str, Any] = {"choices": choices, **extras, "usage": usage}
        # The second repeats the usage: one SDK keeps what the last chunk says, even nothing.
        bodies = [plain, plain | credit] if self._where == TWICE else [plain | credit]
        return [self._head + _encode(body)[1:] + b"\n\n" for body in bodies]

    def fail(self, error: GatewayError) -> bytes:
        """Return the frame that ends a stream which cannot go on, and [DONE].

        It is an error's body and no chunk: some clients know a failure by `error` as the first
        member, others take every frame with `choices` for a part of the answer.
        """
        body = render_error(error, self._call_id, self._profile)[1]
        return b"data: " + _encode(body) + b"\n\n" + DONE


def write_answer(answer: Answer, receipt: Receipt, form: Form) -> bytes:
    """Return the body of a buffered answer (gateway contract, section 7.1)."""
    body: dict[str, Any] = {
        "id": form.answer_id,
        "object": "chat.completion",
        "created": form.created,
        "model": form.model,
        "choices": [write_choice(choice, form.profile) for choice in answer.choices],
        # One SDK takes no answer without it.
        "system_fingerprint": None,
        **spell_extras(answer.extras, form.profile),
        "usage": write_usage(receipt.usage, receipt.charge_nusd),
        "timings": write_timings(receipt),
        "credits_used": form.credits(receipt),
    }
    if form.episode_id:
        body["episode_id"] = form.episode_id
    return _encode(body)


def write_choice(choice: Choice, profile: Profile) -> dict[str, Any]:
    message = spell_reasoning(choice.message, profile)
    if profile.shows_empty_tool_calls and "tool_calls" not in message:
        message = {**message, "tool_calls": []}
    return {
        "index": choice.index,
        "message": message,
        "finish_reason": choice.finish_reason,
        "logprobs": choice.logprobs,
    }


def _per_second(count: int, duration_us: int) -> float:
    """Return the rate with two decimals, as round() would in ten times as long."""
    return (count * 100_000_000 + duration_us // 2) // duration_us / 100


def write_timings(receipt: Receipt) -> dict[str, int | float]:
    """Return `timings` (gateway contract, section 7.4): the parts add up to total_ms."""
    total_ms = (receipt.total_us + 500) // 1000
    upstream_ms = min((receipt.upstream_us + 500) // 1000, total_ms)
    timings: dict[str, int | float] = {"total_ms": total_ms, "upstream_ms": upstream_ms}
    tokens = receipt.usage.completion_tokens
    if tokens > 0 and receipt.upstream_us > 0:
        timings["tokens_per_second"] = _per_second(tokens, receipt.upstream_us)
    queued_ms = min((receipt.queued_us + 500) // 1000, total_ms - upstream_ms)
    if queued_ms:
        timings["queued_ms"] = queued_ms
    rest_ms = total_ms - upstream_ms - queued_ms
    failed_ms = min((receipt.failed_us + 500) // 1000, rest_ms)
    if failed_ms:
        timings["failed_ms"] = failed_ms
    gateway_ms = rest_ms - failed_ms
    if gateway_ms:
        timings["gateway_ms"] = gateway_ms
    return timings
