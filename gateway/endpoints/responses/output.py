"""The output of a response, item by item: what a model said, thought and called, as events.

Reference: https://platform.openai.com/docs/api-reference/responses-streaming
A buffered answer goes through the same steps and keeps their result, so that both are the same.
Reasoning and messages are complete where something else begins; calls of tools stay open to the
end, because providers may send the arguments of several in turns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import UNSET

from gateway.core.events import Fields
from gateway.core.json_types import JsonObject, JsonValue
from gateway.core.reasoning import FIELD, OPENAI_RESPONSES, AnyDetail, texts_of_fields
from gateway.endpoints.responses.citations import SaidTexts, read_annotation
from gateway.endpoints.responses.encrypted_content import read_details, write_encrypted
from gateway.endpoints.responses.response_schema import (
    OutputCustomToolCall,
    OutputFunctionCall,
    OutputImageCall,
    OutputItem,
    OutputMessage,
    OutputReasoning,
    OutputTextPart,
    RefusalOutputPart,
    SummaryPart,
)

# An event without its sequence number: its type and its members.
Event = tuple[str, JsonObject]
ToolCallItem = OutputFunctionCall | OutputCustomToolCall


class _Open:
    """An item that is being written: its place in the output, and its text so far."""

    __slots__ = ("item", "pieces", "position")

    def __init__(self, position: int, item: OutputItem) -> None:
        self.position = position
        self.item = item
        self.pieces: list[str] = []

    @property
    def place(self) -> JsonObject:
        return {"item_id": self.item.id, "output_index": self.position}


class OutputBuilder:
    """For one response. response_id: items have it in their IDs. namespaces: namespace and name of
    tools, by the name that the model knows."""

    def __init__(self, response_id: str, namespaces: Mapping[str, tuple[str, str]]) -> None:
        self.items: list[OutputItem] = []
        self._namespaces = namespaces
        self._stem = response_id.removeprefix("resp_").replace("-", "")
        self._message: _Open | None = None
        self._reasoning: _Open | None = None
        # By their index in the provider's answer.
        self._calls: dict[int, _Open] = {}
        # Of the open item of reasoning, piece by piece.
        self._details: list[AnyDetail] = []
        self._logprobs: list[JsonObject] = []
        self._texts = SaidTexts()

    def add(self, fields: Fields, logprobs: JsonValue = None) -> Iterator[Event]:
        """Return the events of a piece of a message, or of a whole one."""
        details = fields.get(FIELD)
        if isinstance(details, list) and details:
            yield from self._add_details(read_details(details))
        reasoning = fields.get("reasoning") or "".join(texts_of_fields(fields))
        if isinstance(reasoning, str) and reasoning:
            yield from self._add_reasoning(reasoning)
        for name in ("content", "refusal"):
            text = fields.get(name)
            if isinstance(text, str) and text:
                yield from self._add_text(name, text, logprobs)
        annotations = fields.get("annotations")
        if isinstance(annotations, list):
            yield from self._add_annotations(annotations)
        images = fields.get("images")
        for image in images if isinstance(images, list) else ():
            yield from self._add_image(image)
        calls = fields.get("tool_calls")
        if isinstance(calls, list):
            for position, call in enumerate(calls):
                if isinstance(call, dict):
                    yield from self._add_call(position, call)

    def finish(self, *, is_whole: bool = True) -> Iterator[Event]:
        """Return the events that complete what is open. is_whole: the model has stopped by
        itself."""
        status = "completed" if is_whole else "incomplete"
        yield from self._end_reasoning()
        yield from self._end_message(status)
        for call in sorted(self._calls.values(), key=lambda one: one.position):
            yield from self._end_call(call, status)
        self._calls.clear()

    def _open(self, item: OutputItem) -> _Open:
        opened = _Open(len(self.items), item)
        self.items.append(item)
        return opened

    def _id(self, prefix: str) -> str:
        return f"{prefix}_{self._stem}_{len(self.items)}"

    # Reasoning

    def _add_details(self, details: list[AnyDetail]) -> Iterator[Event]:
        for detail in details:
            last = self._details[-1] if self._details else None
            if last is not None and is_another_item(last, detail):
                yield from self._end_reasoning()
            if self._reasoning is None:
                yield from self._begin_reasoning()
            self._details.append(detail)

    def _begin_reasoning(self) -> Iterator[Event]:
        yield from self._end_message("completed")
        opened = self._reasoning = self._open(OutputReasoning(id=self._id("rs"), summary=[]))
        first = OutputReasoning(id=opened.item.id, summary=[])
        yield "response.output_item.added", {"output_index": opened.position, "item": first}

    def _add_reasoning(self, text: str) -> Iterator[Event]:
        if self._reasoning is None:
            yield from self._begin_reasoning()
        opened = self._reasoning
        assert opened is not None
        place = {**opened.place, "summary_index": 0}
        if not opened.pieces:
            yield "response.reasoning_summary_part.added", {**place, "part": SummaryPart("")}
        opened.pieces.append(text)
        yield "response.reasoning_summary_text.delta", {**place, "delta": text}

    def _end_reasoning(self) -> Iterator[Event]:
        opened, self._reasoning = self._reasoning, None
        if opened is None:
            return
        item = opened.item
        assert isinstance(item, OutputReasoning)
        if opened.pieces:
            part = SummaryPart("".join(opened.pieces))
            place = {**opened.place, "summary_index": 0}
            item.summary = [part]
            yield "response.reasoning_summary_text.done", {**place, "text": part.text}
            yield "response.reasoning_summary_part.done", {**place, "part": part}
        details, self._details = self._details, []
        item.encrypted_content = write_encrypted(details) or UNSET
        yield "response.output_item.done", {"output_index": opened.position, "item": item}

    # Messages

    def _begin_message(self) -> Iterator[Event]:
        yield from self._end_reasoning()
        item_id = self._id("msg")
        opened = OutputMessage(id=item_id, status="in_progress", content=[])
        self._message = self._open(opened)
        first = OutputMessage(id=item_id, status="in_progress", content=[])
        yield "response.output_item.added", {"output_index": self._message.position, "item": first}

    def _add_text(self, name: str, text: str, logprobs: JsonValue) -> Iterator[Event]:
        if self._message is None:
            yield from self._begin_message()
        opened = self._message
        assert opened is not None
        message = opened.item
        assert isinstance(message, OutputMessage)
        wanted = OutputTextPart if name == "content" else RefusalOutputPart
        if not message.content or not isinstance(message.content[-1], wanted):
            yield from self._end_part()
            part = new_part(name)
            message.content.append(part)
            if isinstance(part, OutputTextPart):
                self._texts.begin(part, self._part_place())
            yield "response.content_part.added", {**self._part_place(), "part": new_part(name)}
        opened.pieces.append(text)
        place = self._part_place()
        if name == "refusal":
            yield "response.refusal.delta", {**place, "delta": text}
            return
        self._texts.add(text)
        told = read_logprobs(logprobs)
        self._logprobs += told
        yield "response.output_text.delta", {**place, "delta": text, "logprobs": told}

    def _part_place(self) -> JsonObject:
        assert self._message is not None
        message = self._message.item
        assert isinstance(message, OutputMessage)
        return {**self._message.place, "content_index": len(message.content) - 1}

    def _add_annotations(self, annotations: list[JsonValue]) -> Iterator[Event]:
        """Add sources of what was said: those of web pages, which are the only ones in both
        formats."""
        for annotation in annotations:
            written = read_annotation(annotation)
            if written is None:
                continue
            cited = self._texts.find(written)
            if cited is None:
                yield from self._add_text("content", "", None)
                cited = self._texts.find(written)
                assert cited is not None
            place = {**cited.place, "annotation_index": len(cited.part.annotations)}
            written = cited.localise(written)
            cited.part.annotations.append(written)
            yield "response.output_text.annotation.added", {**place, "annotation": written}

    def _add_image(self, image: JsonValue) -> Iterator[Event]:
        """Add a picture that the gateway has made."""
        url = read_image(image)
        if not url:
            return
        yield from self._end_reasoning()
        yield from self._end_message("completed")
        is_data = url.startswith("data:")
        item = OutputImageCall(
            id=self._id("ig"),
            status="completed",
            result=url.partition(",")[2] if is_data else "",
            url=UNSET if is_data else url,
        )
        opened = self._open(item)
        begun = OutputImageCall(id=item.id, status="in_progress", result=None)
        yield "response.output_item.added", {"output_index": opened.position, "item": begun}
        yield "response.image_generation_call.completed", opened.place
        yield "response.output_item.done", {"output_index": opened.position, "item": item}

    def _end_part(self) -> Iterator[Event]:
        opened = self._message
        if opened is None:
            return
        message = opened.item
        assert isinstance(message, OutputMessage)
        if not message.content:
            return
        place, part, text = self._part_place(), message.content[-1], "".join(opened.pieces)
        opened.pieces.clear()
        if isinstance(part, RefusalOutputPart):
            part.refusal = text
            yield "response.refusal.done", {**place, "refusal": text}
        else:
            part.text, part.logprobs = text, self._logprobs
            self._logprobs = []
            yield "response.output_text.done", {**place, "text": text, "logprobs": part.logprobs}
        yield "response.content_part.done", {**place, "part": part}

    def _end_message(self, status: str) -> Iterator[Event]:
        if self._message is None:
            return
        yield from self._end_part()
        opened, self._message = self._message, None
        message = opened.item
        assert isinstance(message, OutputMessage)
        message.status = "completed" if status == "completed" else "incomplete"
        yield "response.output_item.done", {"output_index": opened.position, "item": message}

    # Calls of tools

    def _add_call(self, position: int, call: JsonObject) -> Iterator[Event]:
        index = call.get("index")
        number = index if isinstance(index, int) else position
        is_custom = isinstance(call.get("custom"), dict)
        said = call.get("custom" if is_custom else "function")
        said = said if isinstance(said, dict) else {}
        opened = self._calls.get(number)
        if opened is None:
            yield from self._begin_call(number, call, said, is_custom=is_custom)
            opened = self._calls[number]
        text = said.get("input" if is_custom else "arguments")
        if isinstance(text, str) and text:
            opened.pieces.append(text)
            kind = "custom_tool_call_input" if is_custom else "function_call_arguments"
            yield f"response.{kind}.delta", {**opened.place, "delta": text}

    def _begin_call(
        self, number: int, call: JsonObject, said: JsonObject, *, is_custom: bool
    ) -> Iterator[Event]:
        yield from self._end_reasoning()
        yield from self._end_message("completed")
        name, call_id = str(said.get("name") or ""), str(call.get("id") or self._id("call"))
        namespace, name = self._namespaces.get(name, ("", name))
        item = new_call(self._id("fc"), call_id, name, is_custom=is_custom)
        first = new_call(item.id, call_id, name, is_custom=is_custom)
        for one in (item, first):
            if namespace and isinstance(one, OutputFunctionCall):
                one.namespace = namespace
        opened = self._calls[number] = self._open(item)
        yield "response.output_item.added", {"output_index": opened.position, "item": first}

    def _end_call(self, opened: _Open, status: str) -> Iterator[Event]:
        item, text = opened.item, "".join(opened.pieces)
        assert isinstance(item, OutputFunctionCall | OutputCustomToolCall)
        item.status = "completed" if status == "completed" else "incomplete"
        if isinstance(item, OutputCustomToolCall):
            item.input = text
            yield "response.custom_tool_call_input.done", {**opened.place, "input": text}
        else:
            item.arguments = text
            done = {**opened.place, "name": item.name, "arguments": text}
            yield "response.function_call_arguments.done", done
        yield "response.output_item.done", {"output_index": opened.position, "item": item}


def new_part(name: str) -> OutputTextPart | RefusalOutputPart:
    if name == "refusal":
        return RefusalOutputPart("")
    return OutputTextPart(text="", annotations=[], logprobs=[])


def new_call(item_id: str, call_id: str, name: str, *, is_custom: bool) -> ToolCallItem:
    if is_custom:
        item_id = item_id.replace("fc_", "ctc_", 1)
        return OutputCustomToolCall(
            id=item_id, call_id=call_id, name=name, input="", status="in_progress"
        )
    return OutputFunctionCall(
        id=item_id, call_id=call_id, name=name, arguments="", status="in_progress"
    )


def is_another_item(last: AnyDetail, detail: AnyDetail) -> bool:
    """True where OpenAI gave the two entries in two items, each with an ID of its own."""
    return detail.format == OPENAI_RESPONSES and detail.id != last.id


def read_image(image: JsonValue) -> str:
    """Return the URL of a picture as messages have it; empty for anything else."""
    found = image.get("image_url") if isinstance(image, dict) else None
    url = found.get("url") if isinstance(found, dict) else None
    return url if isinstance(url, str) else ""


def read_logprobs(logprobs: JsonValue) -> list[JsonObject]:
    """Return what chat completions have beside a delta, as a list of tokens."""
    tokens = logprobs.get("content") if isinstance(logprobs, dict) else None
    if not isinstance(tokens, list):
        return []
    return [complete_token(token) for token in tokens if isinstance(token, dict)]


def complete_token(token: JsonObject) -> JsonObject:
    """Return a token with the bytes that this format always has."""
    text = token.get("token")
    spelled = list(text.encode()) if isinstance(text, str) else []
    tops = token.get("top_logprobs")
    others = [complete_token(top) for top in tops] if isinstance(tops, list) else []
    found = {"token": text, "logprob": token.get("logprob")}
    found["bytes"] = token.get("bytes") or spelled
    return found | ({"top_logprobs": others} if isinstance(tops, list) else {})
