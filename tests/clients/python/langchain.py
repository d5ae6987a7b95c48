"""LangChain's ChatOpenAI."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from importlib import metadata
from operator import add
from typing import Any

from langchain_core.messages import HumanMessage, ToolMessage
from langchain_openai import ChatOpenAI

from tests.clients.python.cells import (
    CITY_TOOL,
    KEY,
    MODEL,
    PICTURE,
    PROMPTS,
    WEATHER,
    Cells,
    Seen,
    base_url,
)


def version() -> str:
    return metadata.version("langchain-openai")


def chat(**members: Any) -> Any:
    usual: dict[str, Any] = {"model": MODEL, "api_key": KEY, "base_url": base_url()}
    return ChatOpenAI(**usual, max_retries=0, **members)


def read(seen: Seen, message: Any) -> Any:
    """Note an answer, or the sum of a stream's chunks; return it."""
    seen.text = message.content
    seen.finish = message.response_metadata["finish_reason"]
    if usage := message.usage_metadata:
        seen.usage = [usage["input_tokens"], usage["output_tokens"]]
    return message


def join(chunks: Iterable[Any]) -> Any:
    return reduce(add, chunks)


def failure(seen: Seen) -> None:
    with seen.failure():
        for chunk in chat().stream(PROMPTS["broken"]):
            seen.text += chunk.content


def call_tools(seen: Seen, ask: Any) -> None:
    asked = HumanMessage(PROMPTS["tool"])
    first = read(seen, ask([asked]))
    finish, [call] = seen.finish, first.tool_calls
    seen.calls = [[call["name"], call["args"]]]
    read(seen, ask([asked, first, ToolMessage(WEATHER, tool_call_id=call["id"])]))
    seen.finish = finish


def tools(seen: Seen) -> None:
    call_tools(seen, chat().bind_tools([CITY_TOOL]).invoke)


def tools_streamed(seen: Seen) -> None:
    model = chat().bind_tools([CITY_TOOL])
    call_tools(seen, lambda messages: join(model.stream(messages)))


def image(seen: Seen) -> None:
    picture = {"type": "image_url", "image_url": {"url": PICTURE}}
    asked = HumanMessage(content=[{"type": "text", "text": PROMPTS["echo"]}, picture])
    read(seen, chat().invoke([asked]))


def usage_declined(seen: Seen) -> None:
    options = {"include_usage": False}
    read(seen, join(chat().stream(PROMPTS["plain"], stream_options=options)))


CELLS: Cells = {
    "buffered": lambda seen: read(seen, chat().invoke(PROMPTS["plain"])) and None,
    "streamed": lambda seen: read(seen, join(chat().stream(PROMPTS["plain"]))) and None,
    "usage asked": lambda seen: (
        read(seen, join(chat(stream_usage=True).stream(PROMPTS["plain"]))) and None
    ),
    "usage declined": usage_declined,
    "failure": failure,
    "tools": tools,
    "tools streamed": tools_streamed,
    "image": image,
}
