"""openai-python, any version from 1.0: the loop that everybody writes, nothing guarded in it."""

from __future__ import annotations

import inspect
from importlib import metadata
from typing import Any

import openai

from tests.clients.python.cells import (
    CITY_TOOL,
    KEY,
    MODEL,
    PROMPTS,
    Cells,
    Message,
    Seen,
    ToolCalls,
    base_url,
    user,
    with_picture,
)

CLIENT = openai.OpenAI(api_key=KEY, base_url=base_url(), max_retries=0)
ARGUMENTS = inspect.signature(CLIENT.chat.completions.create).parameters


def version() -> str:
    return metadata.version("openai")


def create(messages: list[Message], **members: Any) -> Any:
    """Make a call. What this version has no argument for goes into the body all the same."""
    named: dict[str, Any] = {name: m for name, m in members.items() if name in ARGUMENTS}
    extra = {name: member for name, member in members.items() if name not in ARGUMENTS}
    make: Any = CLIENT.chat.completions.create
    return make(model=MODEL, messages=messages, extra_body=extra or None, **named)


def plain(value: Any) -> Any:
    """Return what the client parsed as JSON has it: what it does not know it did not parse."""
    return value.model_dump() if hasattr(value, "model_dump") else value


def pieces_of(message: Any) -> list[Message]:
    """Return the tool calls in a message or a delta."""
    return [plain(call) for call in getattr(message, "tool_calls", None) or []]


def read_answer(seen: Seen, answer: Any, calls: ToolCalls | None = None) -> None:
    choice = answer.choices[0]
    seen.text += choice.message.content or ""
    seen.finish = choice.finish_reason
    seen.count(plain(answer.usage))
    if calls:
        calls.join(pieces_of(choice.message))


def read_stream(seen: Seen, stream: Any, calls: ToolCalls | None = None) -> None:
    for chunk in stream:
        # Version 1.0 takes the error for a chunk, which has no choices then.
        seen.code = (getattr(chunk, "error", None) or {}).get("code")
        seen.count(plain(getattr(chunk, "usage", None)))
        choice = chunk.choices[0]
        seen.text += choice.delta.content or ""
        seen.finish = choice.finish_reason or seen.finish
        if calls:
            calls.join(pieces_of(choice.delta))


def buffered(seen: Seen) -> None:
    read_answer(seen, create(user(PROMPTS["plain"])))


def streamed(seen: Seen) -> None:
    read_stream(seen, create(user(PROMPTS["plain"]), stream=True))


def usage_asked(seen: Seen) -> None:
    stream = create(user(PROMPTS["plain"]), stream=True, stream_options={"include_usage": True})
    chunks = list(stream)
    read_stream(seen, [chunk for chunk in chunks if chunk.choices])
    [last] = [chunk for chunk in chunks if not chunk.choices]
    seen.count(plain(last.usage))


def usage_declined(seen: Seen) -> None:
    options = {"include_usage": False}
    read_stream(seen, create(user(PROMPTS["plain"]), stream=True, stream_options=options))


def failure(seen: Seen) -> None:
    with seen.failure():
        read_stream(seen, create(user(PROMPTS["broken"]), stream=True))


def tools(seen: Seen) -> None:
    calls = ToolCalls()
    read_answer(seen, create(user(PROMPTS["tool"]), tools=[CITY_TOOL]), calls)
    finish, seen.calls = seen.finish, calls.named()
    read_answer(seen, create(calls.answered(PROMPTS["tool"]), tools=[CITY_TOOL]))
    seen.finish = finish


def tools_streamed(seen: Seen) -> None:
    calls = ToolCalls()
    read_stream(seen, create(user(PROMPTS["tool"]), tools=[CITY_TOOL], stream=True), calls)
    finish, seen.calls = seen.finish, calls.named()
    again = calls.answered(PROMPTS["tool"])
    read_stream(seen, create(again, tools=[CITY_TOOL], stream=True))
    seen.finish = finish


def image(seen: Seen) -> None:
    read_answer(seen, create(with_picture()))


CELLS: Cells = {
    "buffered": buffered,
    "streamed": streamed,
    "usage asked": usage_asked,
    "usage declined": usage_declined,
    "failure": failure,
    "tools": tools,
    "tools streamed": tools_streamed,
    "image": image,
}
