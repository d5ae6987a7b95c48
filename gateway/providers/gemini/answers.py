"""Whole answers and streams of Gemini's API to our events.

Reference: https://ai.google.dev/api/generate-content#generatecontentresponse
A stream is made of answers, too: each has a piece of the parts, and the counts so far. Calls of
functions come whole.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping

import msgspec

from gateway.core import reasoning
from gateway.core.errors import ProviderUnavailable
from gateway.core.events import (
    ChatAnswer,
    Choice,
    Delta,
    Finish,
    StreamEvent,
    UsageReported,
)
from gateway.providers.base import Framing
from gateway.providers.framing.sse import SseDecoder
from gateway.providers.gemini.errors import ErrorObject, read_reported_error
from gateway.providers.gemini.logprobs import LogprobsResult, write_logprobs
from gateway.providers.gemini.usage import read_usage
from gateway.providers.invalid import MALFORMED, invalid_answer, invalid_stream

Fields = dict[str, object]
FILTERED = "content_filter"
# Not among them: STOP, and what says that a call made no sense (MALFORMED_FUNCTION_CALL and the
# like), after which nothing follows. They are a stop, as is whatever we do not know.
FINISH_REASONS: Mapping[str, str] = {
    "MAX_TOKENS": "length",
    "SAFETY": FILTERED,
    "RECITATION": FILTERED,
    "LANGUAGE": FILTERED,
    "BLOCKLIST": FILTERED,
    "PROHIBITED_CONTENT": FILTERED,
    "SPII": FILTERED,
    "IMAGE_SAFETY": FILTERED,
    "IMAGE_PROHIBITED_CONTENT": FILTERED,
    "IMAGE_RECITATION": FILTERED,
    "MODEL_ARMOR": FILTERED,
    "ESCALATION": FILTERED,
}
MAX_CHOICES = 128
NO_ARGUMENTS = "{}"


class Blob(msgspec.Struct, rename="camel"):
    """Bytes in base64."""

    mime_type: str = ""
    data: str = ""


class FunctionCall(msgspec.Struct):
    """A call of a function."""

    name: str = ""
    id: str | None = None
    args: msgspec.Raw = msgspec.Raw(b"{}")


class Code(msgspec.Struct):
    """Code that the provider has run, or what came of it."""

    language: str = ""
    code: str = ""
    output: str = ""


class Part(msgspec.Struct, rename="camel", kw_only=True):
    """A piece of an answer. What we do not know is skipped."""

    text: str | None = None
    thought: bool | None = None
    thought_signature: str | None = None
    function_call: FunctionCall | None = None
    inline_data: Blob | None = None
    executable_code: Code | None = None
    code_execution_result: Code | None = None


class Content(msgspec.Struct):
    """What one candidate says."""

    parts: list[Part] | None = None


class Candidate(msgspec.Struct, rename="camel"):
    """One choice, or a piece of it."""

    content: Content | None = None
    finish_reason: str | None = None
    index: int | None = None
    logprobs_result: LogprobsResult | None = None


class Feedback(msgspec.Struct, rename="camel"):
    """What the provider thinks of the prompt."""

    block_reason: str | None = None


class Response(msgspec.Struct, rename="camel"):
    """An answer, or a piece of one."""

    candidates: list[Candidate] | None = None
    prompt_feedback: Feedback | None = None
    usage_metadata: object = None
    error: ErrorObject | None = None

    @property
    def block_reason(self) -> str:
        """Why the prompt was not answered; empty where it was."""
        return (self.prompt_feedback and self.prompt_feedback.block_reason) or ""


_decode = msgspec.json.Decoder(Response).decode


class PartReader:
    """Turns the parts of one candidate into fields of OpenAI's deltas."""

    __slots__ = ("_details", "calls")

    def __init__(self) -> None:
        self.calls = 0
        self._details = 0

    def read(self, candidate: Candidate) -> Iterator[Fields]:
        for part in (candidate.content and candidate.content.parts) or ():
            call_id = ""
            if part.function_call is not None:
                call = _write_call(part.function_call, self.calls)
                self.calls += 1
                call_id = str(call["id"])
                yield {"tool_calls": [call]}
            elif fields := _read_said(part):
                yield fields
            if part.thought_signature:
                yield {reasoning.FIELD: [self._write_signature(part.thought_signature, call_id)]}

    def _write_signature(self, signature: str, call_id: str) -> Fields:
        said = {"data": signature} | ({"id": call_id} if call_id else {})
        self._details += 1
        return reasoning.write("encrypted", self._details - 1, reasoning.GOOGLE, **said)

    def finish_reason(self, native: str) -> str:
        """Return the reason for the end in OpenAI's words; the API has none for calls."""
        reason = FINISH_REASONS.get(native, "stop")
        return "tool_calls" if reason == "stop" and self.calls else reason


def _read_said(part: Part) -> Fields | None:
    """Return what is said in a part, None where it is nothing."""
    if part.text:
        return {"reasoning" if part.thought else "content": part.text}
    if part.inline_data is not None and part.inline_data.mime_type.startswith("image/"):
        url = f"data:{part.inline_data.mime_type};base64,{part.inline_data.data}"
        return {"images": [{"type": "image_url", "image_url": {"url": url}}]}
    if part.executable_code is not None:
        code = part.executable_code
        return {"content": f"\n```{code.language.lower()}\n{code.code}\n```\n"}
    if part.code_execution_result is not None and part.code_execution_result.output:
        return {"content": f"\n```\n{part.code_execution_result.output}\n```\n"}
    return None


def _write_call(call: FunctionCall, index: int) -> Fields:
    """Return a call. The arguments are written anew without white space: some come indented.
    Raises msgspec.DecodeError, UnicodeDecodeError."""
    arguments = msgspec.json.format(bytes(call.args), indent=-1).decode()
    function = {"name": call.name, "arguments": NO_ARGUMENTS if arguments == "null" else arguments}
    call_id = call.id or f"call_{uuid.uuid4().hex}"
    return {"index": index, "id": call_id, "type": "function", "function": function}


def read_answer(body: bytes) -> ChatAnswer:
    """Translate a whole answer. Raises ProviderUnavailable when it makes no sense."""
    try:
        response = _decode(body)
        choices = tuple(map(_read_choice, response.candidates or ()))
    except MALFORMED:
        raise invalid_answer(body) from None
    if not choices and response.block_reason:
        message: Fields = {"role": "assistant", "content": None} | _write_refusal(response)
        choices = (Choice(0, message, FILTERED, None, response.block_reason),)
    if not choices:
        raise ProviderUnavailable("The provider's response has no choices.")
    return ChatAnswer(choices, read_usage(response.usage_metadata))


def _write_refusal(response: Response) -> Fields:
    reason = response.block_reason
    return {"refusal": f"The provider blocked the prompt ({reason[:100]})."}


def _read_choice(candidate: Candidate) -> Choice:
    reader = PartReader()
    said: dict[str, str] = {}
    lists: dict[str, list[object]] = {}
    for fields in reader.read(candidate):
        for name, value in fields.items():
            if isinstance(value, list):
                lists.setdefault(name, []).extend(value)
            else:
                said[name] = said.get(name, "") + str(value)
    message: Fields = {"role": "assistant", "content": "", **said, **lists}
    if "tool_calls" in lists:
        message["content"] = message["content"] or None
        message["tool_calls"] = [_without_index(call) for call in lists["tool_calls"]]
    native = candidate.finish_reason or ""
    logprobs = write_logprobs(candidate.logprobs_result)
    return Choice(candidate.index or 0, message, reader.finish_reason(native), logprobs, native)


def _without_index(call: object) -> Fields:
    """Return a call as whole messages have it."""
    assert isinstance(call, dict)
    return {name: value for name, value in call.items() if name != "index"}


class GeminiDecoder:
    """Events of one stream. choices: how many are asked for."""

    __slots__ = ("_choices", "_has_told", "_is_finished", "_readers", "framing")

    def __init__(self, choices: int) -> None:
        self.framing: Framing = SseDecoder()
        self._choices = choices
        self._readers: dict[int, PartReader] = {}
        self._is_finished = self._has_told = False

    def read(self, frame: bytes) -> list[StreamEvent]:
        """Return what one event amounts to. Raises StreamBroken, or the error it reports."""
        try:
            response = _decode(frame)
            if response.error is None:
                return self._read(response)
        except MALFORMED:
            if not frame.strip():
                return []
            raise invalid_stream(frame) from None
        raise read_reported_error(response.error, frame)

    def _read(self, response: Response) -> list[StreamEvent]:
        events: list[StreamEvent] = []
        for candidate in response.candidates or ():
            self._read_candidate(candidate, events)
        if not response.candidates and response.block_reason:
            self._is_finished = True
            for index in range(self._choices):
                events.append(Delta(index, _write_refusal(response)))
                events.append(Finish(index, FILTERED, None, response.block_reason))
        if response.usage_metadata is not None:
            self._read_usage(response.usage_metadata, events)
        return events

    def _read_usage(self, report: object, events: list[StreamEvent]) -> None:
        """The counts of each piece are those so far: the last ones are those of the whole."""
        if self._is_finished:
            usage = read_usage(report)
            if usage is not None:
                events.append(UsageReported(usage))
        elif not self._has_told:
            self._has_told = True
            events.insert(0, UsageReported(None, so_far=read_usage(report)))

    def _read_candidate(self, candidate: Candidate, events: list[StreamEvent]) -> None:
        index = candidate.index or 0
        if not 0 <= index < MAX_CHOICES:
            raise msgspec.ValidationError("The index of the candidate is out of range.")
        reader = self._readers.get(index)
        if reader is None:
            reader = self._readers[index] = PartReader()
        logprobs = write_logprobs(candidate.logprobs_result)
        for fields in reader.read(candidate):
            events.append(Delta(index, fields, logprobs))
            logprobs = None
        native = candidate.finish_reason
        if native:
            self._is_finished = True
            events.append(Finish(index, reader.finish_reason(native), logprobs, native))
