"""The texts of a chat request: read in their order, and replaced.

What a model reads of the messages: contents and text blocks of every role, reasoning that is given
back, tool calls' arguments and tools' results (the strings and long numbers in them, and names of
members that can be data, where they are JSON), files that are text, names of files, and the data of
haystack, which templates can read. Whatever endpoint a request came by, its messages stand in the
call in OpenAI's spelling, and that is read. The body as the caller wrote it, which is what is
stored and compared, has the same texts replaced.

Not read are names of people and tools, and what a request says besides its messages.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from gateway.core.chat import ChatCall
from gateway.core.errors import InvalidFile
from gateway.core.json_types import JsonObject, JsonValue
from gateway.media.inline_data import read_inline_data, write_base64, write_data_url
from gateway.media.media_types import declared_kind
from gateway.processors.json_texts import (
    base64_of,
    decode_document,
    leaves,
    names_in,
    rename,
    replace_in_body,
)

# Longer messages are taken apart in a thread.
LONG_BYTES = 128 * 1024
# The processor whose data is read as well.
HAYSTACK = "haystack"
TEXT_TYPES = ("text/", "application/json")
# Where reasoning is, besides the entries of reasoning_details.
REASONING = ("reasoning", "reasoning_content")
OF_DETAILS = ("text", "summary")
Kind = Literal["text", "value", "name", "file"]
T = TypeVar("T")


class FoundText(NamedTuple):
    """A text of a request."""

    text: str
    # Its place in the request, as errors name it.
    param: str
    # Of its message: system, developer, user, assistant, tool or function; or haystack.
    role: str
    # A text; a value, or the name of a member, of JSON that a tool is given or returns; or a whole
    # file.
    kind: Kind


class _Place(NamedTuple):
    """Where a text stands: container[key], or key itself. document: the JSON in a string that it is
    a part of. ending: what follows it there, and stays."""

    # An object and its member, or an array and its index.
    container: JsonValue
    key: str | int
    document: _Document | None = None
    ending: str = ""


class _Document:
    """JSON in a string, taken apart."""

    def __init__(self, place: _Place, value: JsonValue) -> None:
        self.place = place
        self.value = value
        self.has_changed = False


class MessageTexts:
    """The texts of messages, which are changed in place."""

    def __init__(self, messages: list[JsonObject]) -> None:
        self.messages = messages
        self._places: list[_Place] = []
        self._documents: list[_Document] = []
        self.found: list[FoundText] = []
        # Paths of what is no text: pictures, sounds, files of other types.
        self.unscannable: list[str] = []
        for index, message in enumerate(messages):
            self._read_message(message, f"messages[{index}]")

    def write(self, texts: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
        """Put texts in the places of those that were found. Returns the values and the names that
        have changed, by what they were."""
        replaced: dict[str, str] = {}
        names: dict[str, str] = {}
        renamed: list[JsonObject] = []
        for place, one, text in zip(self._places, self.found, texts, strict=True):
            if text == one.text:
                continue
            if one.kind == "name":
                # Last, because the places of values have the old names.
                renamed.append(place.container)
                names[one.text] = text
            elif one.kind == "file":
                old = str(place.container[place.key])
                place.container[place.key] = _write_file(old, text)
                replaced[base64_of(old)] = write_base64(text.encode())
            else:
                place.container[place.key] = text + place.ending
                replaced[one.text + place.ending] = text + place.ending
            if place.document is not None:
                place.document.has_changed = True
        for container in renamed:
            rename(container, names)
        self._write_documents()
        return replaced, names

    def _write_documents(self) -> None:
        for document in self._documents:
            if document.has_changed:
                place = document.place
                place.container[place.key] = msgspec.json.encode(document.value).decode()

    def _add(self, place: _Place, param: str, role: str, kind: Kind = "text") -> None:
        value = place.container[place.key]
        if isinstance(value, str) and value:
            self._places.append(place)
            self.found.append(FoundText(value, param, role, kind))

    def _read_message(self, message: JsonObject, param: str) -> None:
        role = str(message.get("role"))
        content = message.get("content")
        if isinstance(content, list):
            for index, block in enumerate(content):
                self._read_block(block, f"{param}.content[{index}]", role)
        elif isinstance(content, str):
            self._read_string(_Place(message, "content"), f"{param}.content", role)
        if role == "assistant":
            self._read_said(message, param)

    def _read_said(self, message: JsonObject, param: str) -> None:
        """Read what an assistant's message has besides its content."""
        role = "assistant"
        for name in ("refusal", *REASONING):
            if name in message:
                self._add(_Place(message, name), f"{param}.{name}", role)
        for index, detail in enumerate(message.get("reasoning_details") or ()):
            for name in OF_DETAILS:
                if name in detail:
                    path = f"{param}.reasoning_details[{index}].{name}"
                    self._add(_Place(detail, name), path, role)
        for index, call in enumerate(message.get("tool_calls") or ()):
            self._read_call(call, f"{param}.tool_calls[{index}]", role)
        if message.get("function_call"):
            self._read_call({"function": message["function_call"]}, param, role)

    def _read_call(self, call: JsonObject, param: str, role: str) -> None:
        function, custom = call.get("function"), call.get("custom")
        if isinstance(function, dict) and "arguments" in function:
            place = _Place(function, "arguments")
            self._read_json(place, f"{param}.function.arguments", role)
        if isinstance(custom, dict) and "input" in custom:
            self._add(_Place(custom, "input"), f"{param}.custom.input", role)

    def _read_block(self, block: object, param: str, role: str) -> None:
        if not isinstance(block, dict):
            return
        kind = block.get("type")
        if kind == "text":
            self._read_string(_Place(block, "text"), f"{param}.text", role)
        elif kind == "refusal":
            self._add(_Place(block, "refusal"), f"{param}.refusal", role)
        elif kind == "file" and isinstance(block.get("file"), dict):
            self._read_file(block["file"], param, role)
        else:
            self.unscannable.append(param)

    def _read_file(self, file: JsonObject, param: str, role: str) -> None:
        """Read a file in the normal form (gateway.endpoints.chat_completions.content_parts)."""
        stem, ending = _split_filename(file.get("filename"))
        if stem:
            self._places.append(_Place(file, "filename", ending=ending))
            self.found.append(FoundText(stem, f"{param}.file.filename", role, "text"))
        text = read_text_file(file.get("file_data"))
        if text is None:
            self.unscannable.append(param)
        elif text:
            self._places.append(_Place(file, "file_data"))
            self.found.append(FoundText(text, f"{param}.file.file_data", role, "file"))

    def _read_string(self, place: _Place, param: str, role: str) -> None:
        """Read a text, which of a tool may be JSON."""
        if role in ("tool", "function"):
            self._read_json(place, param, role)
        else:
            self._add(place, param, role)

    def _read_json(self, place: _Place, param: str, role: str) -> None:
        """Read the values and names of JSON in a string, or the string where it is none."""
        text = place.container[place.key]
        value = decode_document(text) if isinstance(text, str) else None
        if value is None:
            self._add(place, param, role)
            return
        document = _Document(place, value)
        self._documents.append(document)
        self._add_leaves(document, param, role, leaves(value))
        for container, key in names_in(value):
            self._places.append(_Place(container, key, document))
            self.found.append(FoundText(key, param, role, "name"))

    def _add_leaves(
        self,
        document: _Document | None,
        param: str,
        role: str,
        leaves: Iterator[tuple[JsonValue, str | int]],
    ) -> None:
        for container, key in leaves:
            found = container[key]
            text = found if isinstance(found, str) else str(found)
            if text:
                self._places.append(_Place(container, key, document))
                self.found.append(FoundText(text, param, role, "value"))


class RequestTexts(MessageTexts):
    """The texts of one call. Made by read_texts."""

    def __init__(self, call: ChatCall) -> None:
        super().__init__(msgspec.json.decode(call.payload.fields["messages"]))
        self._call = call
        # The object that has the data, where the call has any.
        self._inferada = self._read_haystack()

    async def replace(self, texts: Sequence[str]) -> ChatCall:
        """Return the call with these texts in the places of those that were found; itself where
        nothing changes."""
        assert len(texts) == len(self.found)
        changed = [(one.text, text) for one, text in zip(self.found, texts, strict=True)]
        if all(old == new for old, new in changed):
            return self._call
        return await beside_the_loop(lambda: self._write_call(texts), is_long=is_long(self._call))

    def _write_call(self, texts: Sequence[str]) -> ChatCall:
        replaced, names = self.write(texts)
        fields = {**self._call.payload.fields, "messages": msgspec.json.encode(self.messages)}
        if self._inferada:
            fields["inferada"] = msgspec.json.encode(self._inferada)
        call = self._call.with_payload(fields=fields)
        if (body := replace_in_body(call.facts.body, replaced, names)) is None:
            return call
        return replace(call, facts=replace(call.facts, body=body))

    def _read_haystack(self) -> JsonObject:
        if HAYSTACK not in self._call.payload.processors:
            return {}
        inferada: JsonObject = msgspec.json.decode(self._call.payload.fields["inferada"])
        given = inferada.get(HAYSTACK)
        if isinstance(given, dict):
            inferada[HAYSTACK] = data = {"data": given.get("data")}
            self._add_leaves(None, f"inferada.{HAYSTACK}.data", HAYSTACK, leaves(data))
        return inferada


async def read_texts(call: ChatCall) -> RequestTexts:
    """Return the texts of a call."""
    return await beside_the_loop(lambda: RequestTexts(call), is_long=is_long(call))


def is_long(call: ChatCall) -> bool:
    return len(call.payload.fields["messages"]) >= LONG_BYTES


async def beside_the_loop(work: Callable[[], T], *, is_long: bool) -> T:
    """Do the work, in a thread where there is much of it."""
    return await asyncio.to_thread(work) if is_long else work()


def read_text_file(data: object) -> str | None:
    """Return the text of a file that is one, in a data: URL; None for others."""
    if not isinstance(data, str):
        return None
    kind = data[len("data:") :].partition(";")[0]
    if not kind.startswith(TEXT_TYPES):
        return None
    try:
        return read_inline_data(data, "").content.decode()
    except (InvalidFile, UnicodeDecodeError):
        return None


def _split_filename(name: object) -> tuple[str, str]:
    """Return what a file is called, and its ending where that names its type and no domain."""
    if not isinstance(name, str):
        return "", ""
    stem, dot, ending = name.rpartition(".")
    if declared_kind("", name) and ending.lower() != "md":
        return stem, dot + ending
    return name, ""


def _write_file(url: str, text: str) -> str:
    return write_data_url(url[len("data:") :].partition(";")[0], text.encode())
