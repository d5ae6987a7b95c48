"""LangChain's ChatAnthropic, with a model of Anthropic's own dialect and with one of another."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import partial, reduce
from importlib import metadata
from operator import add
from typing import Any

from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage, ToolMessage

from tests.clients.python.cells import (
    CITY_TOOL,
    KEY,
    PROMPTS,
    WEATHER,
    Cells,
    Seen,
    base_url,
)

MODELS = ("fake-model", "a-claude")
FORECAST: dict[str, Any] = {
    "title": "forecast",
    "description": "What the weather will be.",
    "type": "object",
    "properties": {"place": {"type": "string"}, "celsius": {"type": "integer"}},
    "required": ["place", "celsius"],
}
THINKING = {"type": "enabled", "budget_tokens": 1024}


def version() -> str:
    return metadata.version("langchain-anthropic")


def chat(model: str, **members: Any) -> Any:
    # The package adds the version to the address by itself.
    usual: dict[str, Any] = {"api_key": KEY, "base_url": base_url().removesuffix("/v1")}
    return ChatAnthropic(model=model, **usual, max_retries=0, **members)


def read(seen: Seen, message: Any) -> Any:
    """Note an answer, or the sum of a stream's chunks; return it."""
    seen.text = str(message.text)
    seen.finish = message.response_metadata["stop_reason"]
    usage = message.usage_metadata
    seen.usage = [usage["input_tokens"], usage["output_tokens"]]
    return message


def join(chunks: Iterable[Any]) -> Any:
    return reduce(add, chunks)


def buffered(model: str, seen: Seen) -> None:
    read(seen, chat(model).invoke(PROMPTS["plain"]))


def streamed(model: str, seen: Seen) -> None:
    read(seen, join(chat(model).stream(PROMPTS["plain"])))


async def streamed_async(model: str, seen: Seen) -> None:
    read(seen, join([chunk async for chunk in chat(model).astream(PROMPTS["plain"])]))


def call_tools(seen: Seen, ask: Any) -> None:
    asked = HumanMessage(PROMPTS["tool"])
    first = read(seen, ask([asked]))
    finish, [call] = seen.finish, first.tool_calls
    seen.calls = [[call["name"], call["args"]]]
    read(seen, ask([asked, first, ToolMessage(WEATHER, tool_call_id=call["id"])]))
    seen.finish = finish


def tools(model: str, seen: Seen) -> None:
    call_tools(seen, chat(model).bind_tools([CITY_TOOL]).invoke)


def tools_streamed(model: str, seen: Seen) -> None:
    bound = chat(model).bind_tools([CITY_TOOL])
    call_tools(seen, lambda messages: join(bound.stream(messages)))


def schema(model: str, seen: Seen) -> None:
    """By default the package has the model fill in the arguments of a tool that it must call."""
    asked = 'script:tools=1&args={"place":"Paris","celsius":7}'
    seen.text = json.dumps(chat(model).with_structured_output(FORECAST).invoke(asked))


def thinking(model: str, seen: Seen) -> None:
    """Two turns: the second gives back what the model thought in the first."""
    thinker = chat(model, thinking=THINKING, max_tokens=2000)
    asked = HumanMessage("script:text=One&reasoning=2")
    first = join(thinker.stream([asked]))
    seen.calls = [[part["type"], part.get("thinking")] for part in first.content]
    read(seen, thinker.invoke([asked, first, HumanMessage("script:text=Two")]))


def broken(model: str, seen: Seen) -> None:
    with seen.failure():
        for chunk in chat(model).stream(PROMPTS["broken"]):
            seen.text += str(chunk.text)


def limited(model: str, seen: Seen) -> None:
    with seen.failure():
        chat(model).invoke("script:fail=429")


WORK: dict[str, Callable[[str, Seen], Any]] = {
    "buffered": buffered,
    "streamed": streamed,
    "streamed async": streamed_async,
    "tools": tools,
    "tools streamed": tools_streamed,
    "schema": schema,
    "thinking": thinking,
    "broken": broken,
    "limited": limited,
}
CELLS: Cells = {
    f"{model}: {name}": partial(work, model) for model in MODELS for name, work in WORK.items()
}
