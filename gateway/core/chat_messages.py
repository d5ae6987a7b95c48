"""Reads messages in OpenAI's spelling, which every format is brought to, for the adapters of other
dialects (gateway.core.chat has what they get).

The endpoint has checked them and brought files to one form. Only what a role or a part has there is
read here: other fields may be anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from gateway.core.chat import (
    AnyPart,
    Audio,
    Document,
    Image,
    Message,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
)
from gateway.core.errors import RequestError
from gateway.core.reasoning import (
    FIELD,
    AnyDetail,
    ReasoningEncrypted,
    ReasoningSummary,
    ReasoningText,
    merge,
    text_of,
)

NULL = msgspec.Raw(b"null")
_DATA_URL = re.compile(r"data:([^;,]*);base64,", re.I)


class _Marked(msgspec.Struct, kw_only=True):
    cache_control: msgspec.Raw = NULL

    @property
    def mark(self) -> msgspec.Raw | None:
        raw = self.cache_control
        return None if raw is NULL or bytes(raw) == b"null" else raw


class _Text(_Marked, tag_field="type", tag="text"):
    text: str


class _Refusal(_Marked, tag_field="type", tag="refusal"):
    refusal: str


class _ImageUrl(msgspec.Struct):
    url: str


class _Image(_Marked, tag_field="type", tag="image_url"):
    image_url: _ImageUrl | str


class _InputAudio(msgspec.Struct):
    data: str
    format: str


class _Audio(_Marked, tag_field="type", tag="input_audio"):
    input_audio: _InputAudio


class _FileData(msgspec.Struct):
    file_data: str | None = None
    filename: str | None = None


class _File(_Marked, tag_field="type", tag="file"):
    file: _FileData | None = None


_Part = _Text | _Refusal | _Image | _Audio | _File
_Content = str | list[_Part] | None


class _System(_Marked, tag_field="role", tag="system"):
    content: _Content = None


class _Developer(_Marked, tag_field="role", tag="developer"):
    content: _Content = None


class _User(_Marked, tag_field="role", tag="user"):
    content: _Content = None


class _Function(msgspec.Struct):
    name: str
    arguments: str


class _FunctionCall(msgspec.Struct, tag_field="type", tag="function"):
    id: str
    function: _Function


class _Custom(msgspec.Struct):
    name: str
    input: str


class _CustomCall(msgspec.Struct, tag_field="type", tag="custom"):
    id: str
    custom: _Custom


class _Assistant(_Marked, tag_field="role", tag="assistant", kw_only=True):
    content: _Content = None
    refusal: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None
    reasoning_details: list[AnyDetail] | None = None
    tool_calls: list[_FunctionCall | _CustomCall] | None = None
    function_call: _Function | None = None


class _Tool(_Marked, tag_field="role", tag="tool"):
    tool_call_id: str
    content: _Content = None


class _FunctionResult(msgspec.Struct, tag_field="role", tag="function"):
    name: str
    content: str | None = None


_Message = _System | _Developer | _User | _Assistant | _Tool | _FunctionResult
_decode = msgspec.json.Decoder(list[_Message]).decode


def read_messages(raw: bytes) -> list[Message]:
    """Return the messages. Calls of functions as they were before tools, and calls of custom tools,
    are read as calls of tools.

    Raises RequestError for the result of a function that was not called.
    """
    messages: list[Message] = []
    called: _Function | None = None
    call_id = ""
    for index, message in enumerate(_decode(raw)):
        param = f"messages[{index}]"
        if isinstance(message, _Assistant):
            called, call_id = message.function_call, function_call_id(index)
        elif isinstance(message, _FunctionResult):
            if called is None:
                raise RequestError(
                    "The preceding assistant message does not call this function.",
                    param=f"{param}.name",
                )
            called = None
        messages.append(_read(message, param, call_id))
    return messages


def function_call_id(index: int) -> str:
    """Return the ID that a function_call gets as the call of a tool. index: of its message."""
    return f"call_function_{index}"


def custom_arguments(said: str) -> str:
    """Return what a custom tool was called with as the arguments of a function."""
    return msgspec.json.encode({"input": said}).decode()


def _read(message: _Message, param: str, call_id: str) -> Message:
    """call_id: of the last function_call."""
    match message:
        case _User():
            content = _read_content(message.content, param)
            return Message(role="user", parts=content, param=param, cache_control=message.mark)
        case _Assistant():
            content = _read_assistant(message, param, call_id)
            return Message(role="assistant", parts=content, param=param, cache_control=message.mark)
        case _Tool():
            result = _read_result(message, param)
            return Message(role="tool", parts=(result,), param=param)
        case _FunctionResult():
            said = (Text(text=message.content or "", param=f"{param}.content"),)
            returned = ToolResult(call_id=call_id, content=said, param=param)
            return Message(role="tool", parts=(returned,), param=param)
        case _System() | _Developer():
            content = _read_content(message.content, param)
            return Message(role="system", parts=content, param=param, cache_control=message.mark)


def _read_result(message: _Tool, param: str) -> ToolResult:
    content = _read_content(message.content, param)
    return ToolResult(
        call_id=message.tool_call_id,
        content=tuple(part for part in content if isinstance(part, Text)),
        param=param,
        cache_control=message.mark,
    )


def _read_assistant(message: _Assistant, param: str, call_id: str) -> tuple[AnyPart, ...]:
    parts = _read_reasoning(message, param)
    said = _read_content(message.content, param)
    if message.refusal and not _is_visible(said):
        said = (Text(text=message.refusal, param=f"{param}.refusal"),)
    return (*parts, *said, *_read_calls(message, param, call_id))


def _read_reasoning(message: _Assistant, param: str) -> list[Reasoning]:
    """Return the details; the text by itself comes first where they do not have it."""
    details = [
        _read_detail(detail, f"{param}.{FIELD}")
        for detail in merge(message.reasoning_details or ())
    ]
    text = message.reasoning or message.reasoning_content
    if text and not any(detail.text for detail in details):
        return [Reasoning(text=text, param=param), *details]
    return details


def _read_detail(detail: AnyDetail, param: str) -> Reasoning:
    return Reasoning(
        text=text_of(detail),
        is_summary=isinstance(detail, ReasoningSummary),
        signature=(isinstance(detail, ReasoningText) and detail.signature) or "",
        data=detail.data if isinstance(detail, ReasoningEncrypted) else "",
        format=detail.format or "",
        id=detail.id or "",
        param=param,
    )


def _read_calls(message: _Assistant, param: str, call_id: str) -> Iterator[ToolCall]:
    for index, call in enumerate(message.tool_calls or ()):
        place = f"{param}.tool_calls[{index}]"
        if isinstance(call, _CustomCall):
            name, arguments = call.custom.name, custom_arguments(call.custom.input)
        else:
            name, arguments = call.function.name, call.function.arguments
        yield ToolCall(id=call.id, name=name, arguments=arguments, param=place)
    if (called := message.function_call) is not None:
        place = f"{param}.function_call"
        yield ToolCall(id=call_id, name=called.name, arguments=called.arguments, param=place)


def _is_visible(parts: Sequence[AnyPart]) -> bool:
    return any(isinstance(part, Text) and part.text.strip() for part in parts)


def _read_content(content: _Content, param: str) -> tuple[AnyPart, ...]:
    if isinstance(content, str):
        return (Text(text=content, param=f"{param}.content"),)
    parts = enumerate(content or ())
    return tuple([_read_part(part, f"{param}.content[{index}]") for index, part in parts])


def _read_part(part: _Part, param: str) -> AnyPart:
    match part:
        case _Text():
            return Text(text=part.text, param=param, cache_control=part.mark)
        case _Refusal():
            return Text(text=part.refusal, param=param, cache_control=part.mark)
        case _Image():
            url = part.image_url if isinstance(part.image_url, str) else part.image_url.url
            media_type, data = _split_data_url(url)
            place = f"{param}.image_url.url"
            if data:
                return Image(media_type=media_type, data=data, param=place, cache_control=part.mark)
            return Image(url=url, param=place, cache_control=part.mark)
        case _Audio():
            sound = part.input_audio
            return Audio(format=sound.format, data=sound.data, param=param, cache_control=part.mark)
        case _File():
            return _read_file(part, f"{param}.file.file_data")


def _read_file(part: _File, param: str) -> Image | Document:
    file = part.file or _FileData()
    media_type, data = _split_data_url(file.file_data or "")
    if media_type.startswith("image/"):
        return Image(media_type=media_type, data=data, param=param, cache_control=part.mark)
    return Document(
        media_type=media_type,
        data=data,
        name=file.filename or "",
        param=param,
        cache_control=part.mark,
    )


def _split_data_url(url: str) -> tuple[str, str]:
    """Return the media type and the base64 of a data URL; nothing for other URLs."""
    found = _DATA_URL.match(url)
    return (found[1].lower(), url[found.end() :]) if found else ("", "")
