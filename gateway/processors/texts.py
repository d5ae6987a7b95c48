"""The texts of a chat request: read in their order, and replaced.

What a model reads of the messages: contents and text blocks of every role, reasoning that is given
back, tool calls' arguments and tools' results (the strings and long numbers in them, where they are
JSON), files that are text, and the data of haystack, which templates can read. Whatever endpoint a
request came by, its messages stand in the call in OpenAI's spelling, and that is read. The body as
the caller wrote it, which is what is stored and compared, has the same texts replaced.

Not read are names: of people and tools, members of JSON objects, and what a request says besides
its messages.
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

# Longer messages are taken apart in a thread.
LONG_BYTES = 128 * 1024
# Numbers of fewer digits identify nobody.
MIN_DIGITS = 7
# The processor whose data is read as well.
HAYSTACK = "haystack"
TEXT_TYPES = ("text/", "application/json")
# Where reasoning is, besides the entries of reasoning_details.
REASONING = ("reasoning", "reasoning_content")
OF_DETAILS = ("text", "summary")
Kind = Literal["text", "value", "file"]
T = TypeVar("T")


class FoundText(NamedTuple):
    """A text of a request."""

    text: str
    # Its place in the request, as errors name it.
    param: str
    # Of its message: system, developer, user, assistant, tool or function; or haystack.
    role: str
    # A text, a value of JSON that a tool is given or returns, or a whole file.
    kind: Kind


class _Place(NamedTuple):
    """Where a text stands: container[key]. document: the JSON in a string that it is a part of."""

    # An object and its member, or an array and its index.
    container: JsonValue
    key: str | int
    document: _Document | None = None


class _Document:
    """JSON in a string, taken apart."""

    def __init__(self, place: _Place, value: JsonValue) -> None:
        self.place = place
        self.value = value
        self.has_changed = False


class RequestTexts:
    """The texts of one call. Made by read_texts."""

    def __init__(self, call: ChatCall) -> None:
        self._call = call
        self._messages: list[JsonObject] = msgspec.json.decode(call.payload.fields["messages"])
        self._places: list[_Place] = []
        self._documents: list[_Document] = []
        self.found: list[FoundText] = []
        # Paths of what is no text: pictures, sounds, files of other types.
        self.unscannable: list[str] = []
        for index, message in enumerate(self._messages):
            self._read_message(message, f"messages[{index}]")
        # The object that has the data, where the call has any.
        self._inferada = self._read_haystack()

    async def replace(self, texts: Sequence[str]) -> ChatCall:
        """Return the call with these texts in the places of those that were found; itself where
        nothing changes."""
        assert len(texts) == len(self.found)
        changed = [(one.text, text) for one, text in zip(self.found, texts, strict=True)]
        if all(old == new for old, new in changed):
            return self._call
        return await _beside_the_loop(self._call, lambda: self._write(texts))

    def _write(self, texts: Sequence[str]) -> ChatCall:
        replaced: dict[str, str] = {}
        for place, one, text in zip(self._places, self.found, texts, strict=True):
            if text == one.text:
                continue
            if one.kind == "file":
                old = str(place.container[place.key])
                place.container[place.key] = _write_file(old, text)
                replaced[_base64_of(old)] = write_base64(text.encode())
            else:
                place.container[place.key] = text
                replaced[one.text] = text
            if place.document is not None:
                place.document.has_changed = True
        for document in self._documents:
            if document.has_changed:
                place = document.place
                place.container[place.key] = msgspec.json.encode(document.value).decode()
        fields = {**self._call.payload.fields, "messages": msgspec.json.encode(self._messages)}
        if self._inferada:
            fields["inferada"] = msgspec.json.encode(self._inferada)
        call = self._call.with_payload(fields=fields)
        if (body := replace_in_body(call.facts.body, replaced)) is None:
            return call
        return replace(call, facts=replace(call.facts, body=body))

    def _add(self, place: _Place, param: str, role: str, kind: Kind = "text") -> None:
        value = place.container[place.key]
        if isinstance(value, str) and value:
            self._places.append(place)
            self.found.append(FoundText(value, param, role, kind))

    def _read_haystack(self) -> JsonObject:
        if HAYSTACK not in self._call.payload.processors:
            return {}
        inferada: JsonObject = msgspec.json.decode(self._call.payload.fields["inferada"])
        given = inferada.get(HAYSTACK)
        if isinstance(given, dict):
            inferada[HAYSTACK] = data = {"data": given.get("data")}
            self._add_leaves(None, f"inferada.{HAYSTACK}.data", HAYSTACK, _leaves(data))
        return inferada

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
        """Read the values of JSON in a string, or the string where it is none."""
        text = place.container[place.key]
        value = _decode_document(text) if isinstance(text, str) else None
        if value is None:
            self._add(place, param, role)
            return
        document = _Document(place, value)
        self._documents.append(document)
        self._add_leaves(document, param, role, _leaves(value))

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


async def read_texts(call: ChatCall) -> RequestTexts:
    """Return the texts of a call."""
    return await _beside_the_loop(call, lambda: RequestTexts(call))


async def _beside_the_loop(call: ChatCall, work: Callable[[], T]) -> T:
    """Do the work, for long messages in a thread."""
    if len(call.payload.fields["messages"]) < LONG_BYTES:
        return work()
    return await asyncio.to_thread(work)


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


def _write_file(url: str, text: str) -> str:
    return write_data_url(url[len("data:") :].partition(";")[0], text.encode())


def _base64_of(url: str) -> str:
    return url.rpartition(",")[2] if url[:5].lower() == "data:" else url


def _decode_document(text: str) -> JsonValue:
    """Return the JSON object or array that a text is; None for any other text."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None


def _leaves(value: JsonValue) -> Iterator[tuple[JsonValue, str | int]]:
    """Yield the place of every string and every long number."""
    pending = [value]
    while pending:
        container = pending.pop()
        entries = container.items() if isinstance(container, dict) else enumerate(container)
        inner = []
        for key, one in entries:
            if isinstance(one, dict | list):
                inner.append(one)
            elif isinstance(one, str) or (
                isinstance(one, int) and len(str(abs(one))) >= MIN_DIGITS
            ):
                yield container, key
        pending += reversed(inner)


def replace_in_body(body: bytes, replaced: dict[str, str]) -> bytes | None:
    """Return a request's body, in whatever format it is, with these texts replaced.

    Only whole strings are, and strings and numbers of JSON within strings. None where a text is not
    found: then the body has it in another form.
    """
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return None
    missing = set(replaced)
    pending: list[JsonValue] = [value]
    while pending:
        container = pending.pop()
        entries = list(container.items() if isinstance(container, dict) else enumerate(container))
        for key, one in entries:
            if isinstance(one, dict | list):
                pending.append(one)
            elif isinstance(one, str | int) and not isinstance(one, bool):
                container[key] = _replaced(one, replaced, missing)
    return None if missing else msgspec.json.encode(value)


def _replaced(value: str | int, replaced: dict[str, str], missing: set[str]) -> JsonValue:
    text = str(value)
    if text in replaced:
        missing.discard(text)
        return replaced[text]
    if isinstance(value, int):
        return value
    data = _base64_of(text)
    if data in replaced:
        missing.discard(data)
        return text.removesuffix(data) + replaced[data]
    document = _decode_document(text)
    if document is None:
        return value
    has_changed = False
    for container, key in _leaves(document):
        leaf = str(container[key])
        if leaf in replaced:
            missing.discard(leaf)
            container[key] = replaced[leaf]
            has_changed = True
    return msgspec.json.encode(document).decode() if has_changed else value
