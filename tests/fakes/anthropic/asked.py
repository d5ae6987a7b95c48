"""What the fake upstream makes of a Messages request: the same Chat that it plays for OpenAI's."""

from __future__ import annotations

from typing import Any

from tests.fakes.asked import Chat, Message


def read_chat(body: dict[str, Any]) -> Chat:
    """Return what was asked. A text block is a message of its own, so that a script is found."""
    messages = [Message("system", text) for text in _texts(body.get("system"))]
    for message in body["messages"]:
        messages += _read_message(message)
    wanted = (body.get("output_config") or {}).get("format")
    return Chat(
        model=body["model"],
        messages=messages,
        stream=body.get("stream"),
        max_tokens=body["max_tokens"],
        tools=[_read_tool(tool) for tool in body.get("tools") or ()] or None,
        tool_choice=_read_choice(body.get("tool_choice") or {}),
        response_format=wanted and {"type": "json_schema", "json_schema": wanted},
    )


def _read_tool(tool: dict[str, Any]) -> dict[str, Any]:
    return {"function": {"name": tool["name"], "parameters": tool.get("input_schema", {})}}


def _read_choice(choice: dict[str, Any]) -> Any:
    """Return which tool is to be called, in OpenAI's words."""
    if choice.get("type") == "tool":
        return {"type": "function", "function": {"name": choice["name"]}}
    return choice.get("type")


def _read_message(message: dict[str, Any]) -> list[Message]:
    content = message["content"]
    if isinstance(content, str):
        return [Message(message["role"], content)]
    read = []
    for block in content:
        if block["type"] == "tool_result":
            read += [Message("tool", " ".join(_texts(block.get("content"))))]
        elif block["type"] == "text":
            read.append(Message(message["role"], block["text"]))
        else:
            read.append(Message(message["role"], ""))
    return read


def _texts(content: Any) -> list[str]:
    if isinstance(content, list):
        return [block["text"] for block in content if block["type"] == "text"]
    return [content] if content else []
