"""Whole answers and streams of OpenAI's Responses API to our events.

Reference: https://platform.openai.com/docs/api-reference/responses-streaming
Items of tools that OpenAI runs do not occur: no such tool is asked for.
"""

from __future__ import annotations

from typing import ClassVar, Protocol

import msgspec

from gateway.core.errors import UpstreamError
from gateway.core.events import (
    ChatAnswer,
    Choice,
    Delta,
    Finish,
    StreamEnd,
    StreamEvent,
    UsageReported,
)
from gateway.core.json_types import JsonObject
from gateway.core.money import Usage
from gateway.core.reasoning import FIELD, OPENAI_RESPONSES, write
from gateway.providers.framing.sse import SseDecoder
from gateway.providers.invalid import invalid_answer, invalid_stream
from gateway.providers.openai_compatible import answers
from gateway.providers.upstream_errors import read_error

# Why a response is not complete, as chat completions say it.
INCOMPLETE = {"max_output_tokens": "length", "content_filter": "content_filter"}
STATUS_OF_CODE = {"rate_limit_exceeded": 429, "invalid_prompt": 400}
_decode = msgspec.json.Decoder(dict).decode
_encode = msgspec.json.encode


def read_answer(body: bytes) -> ChatAnswer:
    """Translate a whole response. Raises ProviderUnavailable when it makes no sense, and what it
    reports."""
    try:
        response: JsonObject = _decode(body)
        if response.get("error"):
            raise reported(response["error"])
        message, calls = _read_output(response["output"])
        finish = _read_finish(response, has_calls=calls > 0)
        usage, extras = read_usage(response.get("usage")), _read_extras(response)
    except answers.MALFORMED:
        raise invalid_answer(body) from None
    logprobs = message.pop("logprobs", None)
    return ChatAnswer((Choice(0, message, finish.reason, logprobs, finish.native),), usage, extras)


def _read_output(output: list[JsonObject]) -> tuple[JsonObject, int]:
    """Return the items as one message, and how many calls of tools are in it."""
    message: JsonObject = {"role": "assistant", "content": ""}
    calls: list[JsonObject] = []
    for position, item in enumerate(output):
        match item["type"]:
            case "message":
                for part in item["content"]:
                    _add_part(message, part)
            case "reasoning":
                thought = "\n\n".join(part["text"] for part in item.get("summary") or ())
                _join(message, "reasoning", thought or _raw_thought(item))
                message.setdefault(FIELD, []).extend(_details(item, position, thought))
            case "function_call" | "custom_tool_call":
                calls.append(_call_of(item, len(calls), is_whole=True))
    if calls:
        message["tool_calls"] = [
            {name: value for name, value in call.items() if name != "index"} for call in calls
        ]
    if not message.get(FIELD):
        message.pop(FIELD, None)
    return message, len(calls)


def _add_part(message: JsonObject, part: JsonObject) -> None:
    if part["type"] == "refusal":
        _join(message, "refusal", part["refusal"])
        return
    message["content"] += part["text"]
    if part.get("logprobs"):
        message.setdefault("logprobs", {"content": []})["content"].extend(part["logprobs"])
    cited = [one for each in part.get("annotations") or () if (one := _citation(each))]
    if cited:
        message.setdefault("annotations", []).extend(cited)


def _join(message: JsonObject, name: str, text: str) -> None:
    if text:
        message[name] = message.get(name, "") + text


def _raw_thought(item: JsonObject) -> str:
    return "".join(part["text"] for part in item.get("content") or ())


def _details(item: JsonObject, position: int, thought: str) -> list[JsonObject]:
    found = []
    if thought:
        summary = write("summary", position, OPENAI_RESPONSES, summary=thought)
        found.append(summary | {"id": item["id"]})
    if item.get("encrypted_content"):
        found.append(_sealed(item, position))
    return found


def _sealed(item: JsonObject, position: int) -> JsonObject:
    entry = write("encrypted", position, OPENAI_RESPONSES, data=item["encrypted_content"])
    return entry | {"id": item["id"]}


def _call_of(item: JsonObject, index: int, *, is_whole: bool = False) -> JsonObject:
    """Return a call of a tool as chat completions have it; of one that begins without arguments."""
    kind, member = "function", "arguments"
    if item["type"] == "custom_tool_call":
        kind, member = "custom", "input"
    namespace = item.get("namespace")
    name = f"{namespace}__{item['name']}" if namespace else item["name"]
    said = {"name": name, member: item[member] if is_whole else ""}
    return {"index": index, "id": item["call_id"], "type": kind, kind: said}


def _citation(annotation: JsonObject) -> JsonObject | None:
    if annotation.get("type") != "url_citation":
        return None
    cited = {name: value for name, value in annotation.items() if name != "type"}
    return {"type": "url_citation", "url_citation": cited}


def _read_finish(response: JsonObject, *, has_calls: bool) -> Finish:
    details = response.get("incomplete_details") or {}
    reason = details.get("reason")
    if reason is not None:
        return Finish(0, INCOMPLETE.get(reason, "length"), None, str(reason))
    return Finish(0, "tool_calls" if has_calls else "stop", None, str(response["status"]))


def _read_extras(response: JsonObject) -> JsonObject:
    tier = response.get("service_tier")
    return {"service_tier": tier} if tier else {}


def read_usage(raw: object) -> Usage | None:
    """Return the counts, or None when they are missing or make no sense."""
    if not isinstance(raw, dict):
        return None
    return answers.read_usage(
        {
            "prompt_tokens": raw.get("input_tokens"),
            "completion_tokens": raw.get("output_tokens"),
            "prompt_tokens_details": raw.get("input_tokens_details"),
            "completion_tokens_details": raw.get("output_tokens_details"),
        }
    )


def reported(error: object) -> UpstreamError:
    """Return what an error inside an answer or a stream means, as if it were one of that status."""
    told = error if isinstance(error, dict) else {"message": str(error)}
    status = STATUS_OF_CODE.get(str(told.get("code")), 500)
    return read_error(status, {}, _encode({"error": told}))


class ReadEvent(Protocol):
    def __call__(self, decoder: ResponsesDecoder, event: JsonObject, /) -> list[StreamEvent]: ...


class ResponsesDecoder:
    """Semantic events to ours."""

    def __init__(self) -> None:
        self.framing = SseDecoder()
        # The index of each call of a tool, by its place in the output.
        self._calls: dict[int, int] = {}
        # Calls whose arguments have come piece by piece.
        self._begun: set[int] = set()

    def read(self, data: bytes) -> list[StreamEvent]:
        if data == b"[DONE]":
            return [StreamEnd()]
        try:
            event: JsonObject = _decode(data)
            read = self._readers.get(event["type"])
            return [] if read is None else read(self, event)
        except answers.MALFORMED:
            if not data.strip():
                return []
            raise invalid_stream(data) from None

    def _text(self, event: JsonObject) -> list[StreamEvent]:
        logprobs = event.get("logprobs")
        told = {"content": logprobs} if logprobs else None
        return [Delta(0, {"content": _text_of(event["delta"])}, told)]

    def _refusal(self, event: JsonObject) -> list[StreamEvent]:
        return [Delta(0, {"refusal": _text_of(event["delta"])})]

    def _thought(self, event: JsonObject) -> list[StreamEvent]:
        return [Delta(0, {"reasoning": _text_of(event["delta"])})]

    def _summary(self, event: JsonObject) -> list[StreamEvent]:
        return [_summary_of(event, _text_of(event["delta"]))]

    def _summary_part(self, event: JsonObject) -> list[StreamEvent]:
        return [_summary_of(event, "\n\n")] if event["summary_index"] else []

    def _annotation(self, event: JsonObject) -> list[StreamEvent]:
        cited = _citation(event["annotation"])
        return [Delta(0, {"annotations": [cited]})] if cited else []

    def _item(self, event: JsonObject) -> list[StreamEvent]:
        item = event["item"]
        if item["type"] not in ("function_call", "custom_tool_call"):
            return []
        index = self._calls[event["output_index"]] = len(self._calls)
        return [Delta(0, {"tool_calls": [_call_of(item, index)]})]

    def _arguments(self, event: JsonObject) -> list[StreamEvent]:
        position, piece = event["output_index"], _text_of(event["delta"])
        self._begun.add(position)
        kind, member = "function", "arguments"
        if event["type"].startswith("response.custom"):
            kind, member = "custom", "input"
        return [Delta(0, {"tool_calls": [{"index": self._calls[position], kind: {member: piece}}]})]

    def _item_done(self, event: JsonObject) -> list[StreamEvent]:
        item, position = event["item"], event["output_index"]
        if item["type"] == "reasoning" and item.get("encrypted_content"):
            return [Delta(0, {FIELD: [_sealed(item, position)]})]
        if position not in self._calls or position in self._begun:
            return []
        whole = _call_of(item, self._calls[position], is_whole=True)
        kind = whole["type"]
        said = {name: value for name, value in whole[kind].items() if name != "name" and value}
        return [Delta(0, {"tool_calls": [{"index": whole["index"], kind: said}]})] if said else []

    def _ended(self, event: JsonObject) -> list[StreamEvent]:
        response = event["response"]
        finish = _read_finish(response, has_calls=bool(self._calls))
        usage = UsageReported(read_usage(response.get("usage")), _read_extras(response))
        return [finish, usage, StreamEnd()]

    def _failed(self, event: JsonObject) -> list[StreamEvent]:
        raise reported(event["response"].get("error") or {})

    def _error(self, event: JsonObject) -> list[StreamEvent]:
        raise reported(event.get("error") or event)

    _readers: ClassVar[dict[str, ReadEvent]] = {
        "response.output_text.delta": _text,
        "response.refusal.delta": _refusal,
        "response.reasoning_text.delta": _thought,
        "response.reasoning_summary_text.delta": _summary,
        "response.reasoning_summary_part.added": _summary_part,
        "response.output_text.annotation.added": _annotation,
        "response.output_item.added": _item,
        "response.function_call_arguments.delta": _arguments,
        "response.custom_tool_call_input.delta": _arguments,
        "response.output_item.done": _item_done,
        "response.completed": _ended,
        "response.incomplete": _ended,
        "response.failed": _failed,
        "error": _error,
    }


def _summary_of(event: JsonObject, text: str) -> Delta:
    detail = write("summary", event["output_index"], OPENAI_RESPONSES, summary=text)
    return Delta(0, {"reasoning": text, FIELD: [detail | {"id": event["item_id"]}]})


def _text_of(value: object) -> str:
    """Return a text. Raises TypeError for what is none."""
    if not isinstance(value, str):
        raise TypeError("No text.")
    return value
