"""Messages as Cohere takes them.

Text files are documents beside the messages, which answers cite. What a model planned or thought
before it called tools goes back with the calls.
Reference: https://docs.cohere.com/v2/reference/chat
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

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
from gateway.core.errors import AudioNotSupported, InvalidFile, RequestError
from gateway.media.media_types import PDF
from gateway.providers.turns import with_user

Block = dict[str, object]
BETWEEN = "\n\n"


class Conversation(msgspec.Struct):
    """What a prompt comes to."""

    messages: list[Block]
    documents: list[Block]


def translate(messages: Sequence[Message], *, thinks: bool) -> Conversation:
    """Return the messages. thinks: earlier thoughts are taken as such, not as plans.

    Raises RequestError, InvalidFile or AudioNotSupported with the path of what cannot be said.
    """
    said = Conversation([], [])
    for message in with_user(messages):
        match message.role:
            case "user":
                content = _write_user(message.parts, said.documents)
                said.messages.append({"role": "user", "content": content})
            case "assistant":
                said.messages.append(_write_assistant(message, thinks=thinks))
            case "tool":
                said.messages += [_write_result(part) for part in message.parts]
            case "system":
                said.messages.append({"role": "system", "content": _text_of(message.parts)})
    if not any(message["role"] in ("user", "tool") for message in said.messages):
        raise RequestError("There is no user message with content in messages.", param="messages")
    return said


def without_pdfs(message: Message) -> Message:
    """Return a message without the PDFs that become text before it is sent."""
    parts = tuple(
        part
        for part in message.parts
        if not (isinstance(part, Document) and part.media_type == PDF)
    )
    return replace(message, parts=parts)


def unsaid_reasoning(messages: Sequence[Message], *, thinks: bool) -> set[str]:
    """Return the names of reasoning that does not go back: signatures, and thoughts of models that
    do not think, but for plans before calls of tools."""
    names: set[str] = set()
    for message in messages:
        thoughts = [part for part in message.parts if isinstance(part, Reasoning)]
        if any(part.signature or part.data for part in thoughts):
            names.add("reasoning_details")
        has_plan = any(isinstance(part, ToolCall) for part in message.parts)
        if not thinks and not has_plan and any(part.text for part in thoughts):
            names.add("reasoning")
    return names


def _write_user(parts: Sequence[AnyPart], documents: list[Block]) -> str | list[Block]:
    blocks: list[Block] = []
    for part in parts:
        match part:
            case Text():
                blocks.append({"type": "text", "text": part.text})
            case Image():
                url = part.url or f"data:{part.media_type};base64,{part.data}"
                blocks.append({"type": "image_url", "image_url": {"url": url}})
            case Document():
                documents.append(_write_document(part, len(documents)))
            case Audio():
                raise AudioNotSupported("The model does not support audio.", param=part.param)
            case _:
                pass
    if all(block["type"] == "text" for block in blocks):
        return BETWEEN.join(str(block["text"]) for block in blocks)
    return blocks


def _write_document(document: Document, index: int) -> Block:
    if document.media_type == PDF:
        raise InvalidFile("This model only supports text files.", param=document.param)
    try:
        text = base64.b64decode(document.data, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise InvalidFile("This model only supports text files.", param=document.param) from None
    data = {"title": document.name, "text": text} if document.name else {"text": text}
    return {"id": f"doc_{index}", "data": data}


def _write_assistant(message: Message, *, thinks: bool) -> Block:
    said: Block = {"role": "assistant"}
    calls = [_write_call(part) for part in message.parts if isinstance(part, ToolCall)]
    thought = "".join(part.text for part in message.parts if isinstance(part, Reasoning))
    text = _text_of(message.parts)
    if thought and thinks:
        blocks: list[Block] = [{"type": "thinking", "thinking": thought}]
        said["content"] = [*blocks, {"type": "text", "text": text}] if text else blocks
    elif text or not calls:
        said["content"] = text
    if calls:
        said["tool_calls"] = calls
        if thought and not thinks:
            said["tool_plan"] = thought
    return said


def _write_call(call: ToolCall) -> Block:
    function = {"name": call.name, "arguments": call.arguments or "{}"}
    return {"id": call.id, "type": "function", "function": function}


def _write_result(part: AnyPart) -> Block:
    assert isinstance(part, ToolResult)
    return {"role": "tool", "tool_call_id": part.call_id, "content": _text_of(part.content)}


def _text_of(parts: Sequence[AnyPart]) -> str:
    return BETWEEN.join(part.text for part in parts if isinstance(part, Text))
