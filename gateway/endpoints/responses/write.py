"""POST /responses, outbound: our events to response objects and semantic events.

Reference: https://platform.openai.com/docs/api-reference/responses-streaming
Every event is one `data:` line behind an `event:` line with its type, numbered in order; the last
one has the whole response. A stream that breaks ends with `error`, which SDKs raise, and
response.failed.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Literal

import msgspec
from msgspec import UNSET, structs

from gateway.core.errors import GatewayError
from gateway.core.events import (
    Answer,
    ChatAnswer,
    Delta,
    Finish,
    ToolEvent,
    UsageReported,
    WrittenEvent,
)
from gateway.core.json_types import JsonObject
from gateway.core.money import Usage, count_cache_writes, usd
from gateway.core.receipt import Receipt
from gateway.endpoints.base import AnswerForm
from gateway.endpoints.chat_completions.response_schema import Fallback, HiToolEvent
from gateway.endpoints.chat_completions.write import (
    write_tool_costs,
    write_tool_event,
    write_tool_events,
)
from gateway.endpoints.responses.output import Event, OutputBuilder
from gateway.endpoints.responses.payload import Settings
from gateway.endpoints.responses.response_schema import (
    IncompleteDetails,
    ResponseFailure,
    ResponseInputDetails,
    ResponseObject,
    ResponseOutputDetails,
    ResponseUsage,
)
from gateway.endpoints.responses.tools import read_namespaces
from gateway.http.error_format import render_error
from gateway.http.sse import DATA, END, KEEP_ALIVE

# Why a response is not complete, by the finish_reason.
INCOMPLETE: dict[str, Literal["max_output_tokens", "content_filter"]] = {
    "length": "max_output_tokens",
    "content_filter": "content_filter",
}
# All that OpenAI's types know of what can happen here.
FAILURES = {429: "rate_limit_exceeded", 400: "invalid_prompt"}
_encode = msgspec.json.encode


def write_usage(usage: Usage, charge_nusd: int) -> ResponseUsage:
    return ResponseUsage(
        input_tokens=usage.prompt_tokens,
        input_tokens_details=ResponseInputDetails(usage.cached_tokens, count_cache_writes(usage)),
        output_tokens=usage.completion_tokens,
        output_tokens_details=ResponseOutputDetails(usage.reasoning_tokens),
        total_tokens=usage.prompt_tokens + usage.completion_tokens,
        cost=usd(charge_nusd),
    )


class ResponseWriter:
    """A Writer of buffered answers (gateway.endpoints.base)."""

    keep_alive = KEEP_ALIVE
    fallback: tuple[str, int] | None = None
    # The last event has all that came before it.
    ends_with_whole = True

    def __init__(self, form: AnswerForm, settings: Settings) -> None:
        self._form = form
        self._settings = settings
        self._id = form.answer_id
        self._output = OutputBuilder(self._id, read_namespaces(settings.tools))
        self._service_tier: object = None
        self._tool_events: list[HiToolEvent] = []

    def write_answer(self, answer: Answer, receipt: Receipt) -> bytes:
        """Return the body of a buffered answer."""
        assert isinstance(answer, ChatAnswer)
        choice = answer.choices[0]
        self._service_tier = answer.extras.get("service_tier")
        self._tool_events += write_tool_events(answer)
        drain(self._output.add(choice.message, choice.logprobs))
        drain(self._output.finish(is_whole=choice.finish_reason not in INCOMPLETE))
        return _encode(self._ended(choice.finish_reason, receipt))

    def _response(
        self, status: Literal["in_progress", "completed", "incomplete", "failed"]
    ) -> ResponseObject:
        form = self._form
        settings = structs.asdict(self._settings)
        settings["store"] = self._settings.store and form.is_stored
        if isinstance(self._service_tier, str):
            settings["service_tier"] = self._service_tier
        return ResponseObject(
            id=self._id,
            created_at=form.created,
            status=status,
            model=form.model,
            output=[],
            episode_id=form.episode_id or UNSET,
            **settings,
        )

    def _ended(self, reason: str, receipt: Receipt) -> ResponseObject:
        incomplete = INCOMPLETE.get(reason)
        response = self._response("incomplete" if incomplete else "completed")
        if incomplete:
            response.incomplete_details = IncompleteDetails(incomplete)
        else:
            response.completed_at = int(time.time())
        response.output = self._output.items
        response.usage = write_usage(receipt.usage, receipt.charge_nusd)
        response.credits_used = self._form.credits(receipt)
        response.inferada = self._form.summary()
        response.hi_tool_events = self._tool_events or UNSET
        response.tool_costs_micro_usd = write_tool_costs(receipt)
        if self.fallback is not None:
            response.fallback = Fallback(*self.fallback)
        return response


class EventWriter(ResponseWriter):
    """A Writer of streams."""

    def __init__(self, form: AnswerForm, settings: Settings) -> None:
        super().__init__(form, settings)
        self._number = 0
        self._reason = "stop"

    @property
    def is_open(self) -> bool:
        """True once the first event has been made."""
        return self._number > 0

    def open(self) -> bytes:
        """Return the events that every stream begins with."""
        begun = self._response("in_progress")
        return b"".join(
            (
                self._frame("response.created", {"response": begun}),
                self._frame("response.in_progress", {"response": begun}),
            )
        )

    def _frame(self, kind: str, members: JsonObject) -> bytes:
        body = _encode({"type": kind, "sequence_number": self._number, **members})
        self._number += 1
        return b"event: " + kind.encode() + b"\n" + DATA + body + END

    def _frames(self, events: Iterable[Event]) -> bytes:
        return b"".join([self._frame(kind, members) for kind, members in events])

    def write(self, event: WrittenEvent) -> bytes:
        """Return the frames of this event, possibly none."""
        if isinstance(event, Delta):
            first = b"" if self._number else self.open()
            return first + self._frames(self._output.add(event.fields, event.logprobs))
        if isinstance(event, Finish):
            self._reason = event.reason
            if event.logprobs is not None:
                return self._frames(self._output.add({}, event.logprobs))
        elif isinstance(event, ToolEvent):
            return self._write_tool_event(event) if event.is_shown else b""
        elif isinstance(event, UsageReported):
            self._service_tier = event.extras.get("service_tier", self._service_tier)
        return b""

    def _write_tool_event(self, event: ToolEvent) -> bytes:
        """Return a keepalive that has the event: OpenAI's SDK for Node fails on types that it does
        not know."""
        first = b"" if self._number else self.open()
        written = write_tool_event(event)
        self._tool_events.append(written)
        return first + self._frame("keepalive", {"hi_tool_event": written})

    def close(self, receipt: Receipt) -> list[bytes]:
        """Return the events that complete the output, and the one that has all of it."""
        first = b"" if self._number else self.open()
        is_whole = self._reason not in INCOMPLETE
        last = self._frames(self._output.finish(is_whole=is_whole))
        response = self._ended(self._reason, receipt)
        kind = f"response.{response.status}"
        return [first + last, self._frame(kind, {"response": response})]

    def fail(self, error: GatewayError) -> bytes:
        """Return the events that end a stream which cannot go on. `error` has its members twice:
        where OpenAI's types have them, and where SDKs look for an error to raise."""
        rendered = render_error(error, self._form.call_id, self._form.profile)[1]
        found: JsonObject = msgspec.to_builtins(rendered)
        plain = {"code": error.code, "message": error.message, "param": error.param}
        response = self._response("failed")
        # What was said so far, without the events that would call it complete.
        drain(self._output.finish(is_whole=False))
        response.output = self._output.items
        response.hi_tool_events = self._tool_events or UNSET
        response.error = ResponseFailure(FAILURES.get(error.status, "server_error"), error.message)
        told = self._frame("error", {**found, **plain})
        return told + self._frame("response.failed", {"response": response})


def drain(events: Iterable[Event]) -> None:
    """Let a buffered answer go through what a stream is made of."""
    for _ in events:
        pass
