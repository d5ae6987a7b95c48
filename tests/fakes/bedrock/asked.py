"""What the fake upstream makes of a Converse request: the same Chat that it plays for OpenAI's."""

from __future__ import annotations

from typing import Any

import msgspec

from tests.fakes.asked import Chat, Message
from tests.fakes.bedrock.refused import Refused


def read_chat(body: dict[str, Any], model: str, *, stream: bool) -> Chat:
    """Return what was asked. A text block is a message of its own, so that a script is found."""
    messages = [
        Message("system", block["text"]) for block in body.get("system", ()) if "text" in block
    ]
    for message in body["messages"]:
        for block in message["content"]:
            role = "tool" if "toolResult" in block else message["role"]
            messages.append(Message(role, _text_of(block)))
    tools = (body.get("toolConfig") or {}).get("tools", ())
    names = [tool["toolSpec"]["name"] for tool in tools if "toolSpec" in tool]
    form = (body.get("outputConfig") or {}).get("textFormat")
    schema = form and _read_schema(form["structure"]["jsonSchema"]["schema"])
    return Chat(
        model=model,
        messages=messages,
        stream=stream,
        max_tokens=(body.get("inferenceConfig") or {}).get("maxTokens"),
        tools=[{"function": {"name": name}} for name in names] or None,
        response_format=form and {"type": "json_schema", "json_schema": {"schema": schema}},
    )


def _read_schema(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise Refused(f"The JSON schema cannot be parsed: {error}") from None


def _text_of(block: dict[str, Any]) -> str:
    if "toolResult" in block:
        return " ".join(part.get("text", "") for part in block["toolResult"]["content"])
    return str(block.get("text", ""))
