"""The items of `input` as messages of a chat completion.

What a model said and did in one turn (reasoning, message, calls of tools) is one message there.
Texts that tools returned stay theirs; pictures and files that they returned follow in a message
of the user's, behind all results of the turn, because messages of tools have nothing but text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from gateway.core.errors import RequestError, UnsupportedParameter
from gateway.core.json_types import JsonObject
from gateway.core.reasoning import FIELD, AnyDetail
from gateway.endpoints.reading import explain_inside
from gateway.endpoints.responses import schema
from gateway.endpoints.responses.encrypted_content import read_encrypted
from gateway.endpoints.responses.hosted_items import write_hosted

# What stands in the place of a result that has no text.
FILES_FOLLOW = "(The result follows as a file.)"


def read_item(item: JsonObject, path: str) -> object:
    """Return an item as its type. Raises RequestError with its path."""
    kind = item.get("type")
    if is_reference(item):
        kind = "item_reference"
        item = item | {"type": kind}
    wanted: object = schema.TypedItem
    if kind is None or kind == "message":
        wanted = schema.InputMessage
    elif isinstance(kind, str) and kind not in schema.ITEM_TYPES:
        raise UnsupportedParameter(
            f"Items of the type {kind[:64]} are not supported.", param=f"{path}.type"
        )
    return convert(item, wanted, path)


def convert(value: object, wanted: object, path: str) -> object:
    """Return the value as this type. Raises RequestError with the path of what does not fit."""
    try:
        found: object = msgspec.convert(value, wanted)
    except msgspec.ValidationError as error:
        raise explain_inside(error, schema.words_for, wanted, path) from None
    return found


def is_reference(item: JsonObject) -> bool:
    """True for an item that only names one of a stored response."""
    kind = item.get("type")
    is_bare = kind is None and "role" not in item
    return isinstance(item.get("id"), str) and (is_bare or kind == "item_reference")


def in_place(place: str, given: object) -> Iterator[tuple[str, JsonObject]]:
    """Yield the items of a stored request or response."""
    if isinstance(given, str):
        yield place, {"role": "user", "content": given}
    for item in given if isinstance(given, list) else ():
        yield place, item


class ConversationReader:
    """Puts messages together, item by item. places: where each message stands in the request.

    stored: items of stored responses, by their IDs.
    """

    def __init__(self, stored: Mapping[str, JsonObject]) -> None:
        self._stored = stored
        self.messages: list[JsonObject] = []
        self.places: list[str] = []
        # Pictures that the gateway has made: what they are made of is no provider's.
        self.has_images = False
        self._assistant: JsonObject | None = None
        # What tools returned and messages of theirs cannot have, with the place of the first.
        self._files: list[JsonObject] = []
        self._files_place = ""

    def say(self, role: str, content: object, place: str) -> None:
        """Add a message that is no assistant's."""
        self._end_results()
        self._add({"role": role, "content": content}, place)

    def read(self, items: Iterable[tuple[str, JsonObject]]) -> None:
        """Add items, each behind its place. Raises RequestError."""
        for place, raw in items:
            item = read_item(raw, place)
            if isinstance(item, schema.ItemReference) and item.id in self._stored:
                item = read_item(self._stored[item.id], place)
            if isinstance(item, schema.HostedItem):
                if text := write_hosted(item):
                    self._say(text, place)
            else:
                self._read_item(item, place)

    def finish(self) -> None:
        self._end_results()
        for message in self.messages:
            if message["role"] == "assistant" and "tool_calls" not in message:
                message.setdefault("content", "")

    def _read_item(self, item: object, place: str) -> None:
        match item:
            case schema.InputUserMessage():
                self.say("user", write_content(item.content, place), place)
            case schema.InputSystemMessage():
                self.say("system", write_content(item.content, place), place)
            case schema.InputDeveloperMessage():
                self.say("developer", write_content(item.content, place), place)
            case schema.InputAssistantMessage():
                self._read_message(item, place)
            case schema.ReasoningItem():
                self._read_reasoning(item, place)
            case schema.FunctionCallItem():
                name = f"{item.namespace}__{item.name}" if item.namespace else item.name
                function = {"name": name, "arguments": item.arguments}
                self._call({"type": "function", "function": function}, item.call_id, place)
            case schema.CustomToolCallItem():
                custom = {"name": item.name, "input": item.input}
                self._call({"type": "custom", "custom": custom}, item.call_id, place)
            case schema.FunctionCallOutput() | schema.CustomToolCallOutput():
                self._read_output(item, f"{place}.output")
            case schema.ImageCallItem():
                self.has_images = True
            case _:
                raise RequestError(
                    "The item is of no stored response. Send the item itself.", param=f"{place}.id"
                )

    def _turn(self, place: str) -> JsonObject:
        """Return the message of the assistant's turn, a new one if none is open."""
        self._end_results()
        if self._assistant is None:
            self._add(message := {"role": "assistant"}, place)
            self._assistant = message
        return self._assistant

    def _read_message(self, item: schema.InputAssistantMessage, place: str) -> None:
        self._say(write_said(item.content), place)

    def _say(self, content: object, place: str) -> None:
        """Add what an assistant said."""
        turn = self._turn(place)
        if turn.get("content") is not None:
            # Two messages in a turn stay two, unless calls stand between them.
            self._assistant = None
            turn = self._turn(place)
        turn["content"] = content

    def _read_reasoning(self, item: schema.ReasoningItem, place: str) -> None:
        turn = self._turn(place)
        said = [part.text for part in (*(item.summary or ()), *(item.content or ())) if part.text]
        if said:
            earlier = [turn["reasoning"]] if "reasoning" in turn else []
            turn["reasoning"] = "\n\n".join([*earlier, *said])
        if item.encrypted_content:
            try:
                details = read_encrypted(item.encrypted_content, item.id)
            except ValueError:
                param = f"{place}.encrypted_content"
                raise RequestError("encrypted_content has been changed.", param=param) from None
            turn.setdefault(FIELD, []).extend(map(write_detail, details))

    def _call(self, call: JsonObject, call_id: str, place: str) -> None:
        self._turn(place).setdefault("tool_calls", []).append({"id": call_id, **call})

    def _read_output(
        self, item: schema.FunctionCallOutput | schema.CustomToolCallOutput, place: str
    ) -> None:
        content: object = item.output
        if not isinstance(item.output, str):
            parts = [write_part(part, f"{place}[{n}]") for n, part in enumerate(item.output)]
            content = [part for part in parts if part["type"] == "text"] or FILES_FOLLOW
            if others := [part for part in parts if part["type"] != "text"]:
                self._files_place = self._files_place or place
                title = {"type": "text", "text": f"Returned by the tool call {item.call_id}:"}
                self._files += [title, *others]
        self._add({"role": "tool", "tool_call_id": item.call_id, "content": content}, place)

    def _end_results(self) -> None:
        """Add what tools returned beside text, now that nothing else of theirs follows."""
        if self._files:
            self._add({"role": "user", "content": self._files}, self._files_place)
            self._files, self._files_place = [], ""

    def _add(self, message: JsonObject, place: str) -> None:
        self._assistant = None
        self.messages.append(message)
        self.places.append(place)


def write_detail(detail: AnyDetail) -> JsonObject:
    written: JsonObject = msgspec.to_builtins(detail)
    return {name: value for name, value in written.items() if value is not None}


def write_content(content: object, place: str) -> object:
    """Return the content of a message as a chat completion has it."""
    if isinstance(content, str):
        return content
    assert isinstance(content, list)
    return [write_part(part, f"{place}.content[{n}]") for n, part in enumerate(content)]


def write_part(part: object, place: str) -> JsonObject:
    match part:
        case schema.InputText():
            return {"type": "text", "text": part.text}
        case schema.InputImage():
            return _write_image(part, place)
        case schema.InputSound():
            return {"type": "input_audio", "input_audio": msgspec.to_builtins(part.input_audio)}
        case schema.InputFile():
            given = {name: value for name, value in _members(part) if value is not None}
            return {"type": "file", "file": given}
    raise AssertionError(part)


def _members(part: schema.InputFile) -> Iterable[tuple[str, object]]:
    return msgspec.structs.asdict(part).items()


def _write_image(part: schema.InputImage, place: str) -> JsonObject:
    if part.file_id is not None:
        # As files of chat completions are refused, which are looked up by their IDs, too.
        detail = {"detail": part.detail} if part.detail else {}
        return {"type": "file", "file": {"file_id": part.file_id} | detail}
    if not part.image_url:
        raise RequestError(f"{place}.image_url is required.", param=f"{place}.image_url")
    image = {"url": part.image_url} | ({"detail": part.detail} if part.detail else {})
    return {"type": "image_url", "image_url": image}


def write_said(content: str | list[schema.OutputPart]) -> object:
    """Return what an assistant said as a chat completion has it."""
    if isinstance(content, str):
        return content
    if not content:
        return ""
    return [
        {"type": "text", "text": part.text}
        if isinstance(part, schema.OutputText)
        else {"type": "refusal", "refusal": part.refusal}
        for part in content
    ]
