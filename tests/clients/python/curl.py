"""curl, and what a shell script makes of what it prints."""

from __future__ import annotations

import json
import subprocess
from typing import Any

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

WAIT_S = 60


def version() -> str:
    return ""


def run(messages: list[Message], *options: str, **members: Any) -> str:
    """Return what curl prints."""
    done = subprocess.run(
        [
            *("curl", "--silent", "--show-error", "--max-time", str(WAIT_S), *options),
            *("-H", f"Authorization: Bearer {KEY}", "-H", "Content-Type: application/json"),
            *(f"{base_url()}/chat/completions", "--data-binary", "@-"),
        ],
        input=json.dumps({"model": MODEL, "messages": messages} | members),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def ask(messages: list[Message], **members: Any) -> Any:
    return json.loads(run(messages, **members))


def read(seen: Seen, answer: Any, calls: ToolCalls | None = None) -> None:
    """Note an answer."""
    [choice] = answer["choices"]
    seen.text += choice["message"]["content"] or ""
    seen.finish = choice["finish_reason"]
    seen.count(answer["usage"])
    if calls:
        calls.join(choice["message"].get("tool_calls"))


def stream(
    seen: Seen, messages: list[Message], calls: ToolCalls | None = None, **members: Any
) -> None:
    """Note a stream: one `data:` line and one empty line for each event, [DONE] the last."""
    *events, end = run(messages, "--no-buffer", stream=True, **members).split("\n\n")
    assert (events.pop(), end) == ("data: [DONE]", "")
    for event in events:
        assert event.startswith("data: {")
        chunk = json.loads(event.removeprefix("data: "))
        if "error" in chunk:
            seen.raised, seen.code = "error", chunk["error"]["code"]
            continue
        seen.count(chunk.get("usage"))
        for choice in chunk["choices"]:
            seen.text += choice["delta"].get("content") or ""
            seen.finish = choice["finish_reason"] or seen.finish
            if calls:
                calls.join(choice["delta"].get("tool_calls"))


def tools(seen: Seen) -> None:
    calls = ToolCalls()
    read(seen, ask(user(PROMPTS["tool"]), tools=[CITY_TOOL]), calls)
    finish, seen.calls = seen.finish, calls.named()
    read(seen, ask(calls.answered(PROMPTS["tool"]), tools=[CITY_TOOL]))
    seen.finish = finish


def tools_streamed(seen: Seen) -> None:
    calls = ToolCalls()
    stream(seen, user(PROMPTS["tool"]), calls, tools=[CITY_TOOL])
    finish, seen.calls = seen.finish, calls.named()
    stream(seen, calls.answered(PROMPTS["tool"]), tools=[CITY_TOOL])
    seen.finish = finish


def stream_with(seen: Seen, include_usage: bool) -> None:
    stream(seen, user(PROMPTS["plain"]), stream_options={"include_usage": include_usage})


CELLS: Cells = {
    "buffered": lambda seen: read(seen, ask(user(PROMPTS["plain"]))),
    "streamed": lambda seen: stream(seen, user(PROMPTS["plain"])),
    "usage asked": lambda seen: stream_with(seen, True),
    "usage declined": lambda seen: stream_with(seen, False),
    "failure": lambda seen: stream(seen, user(PROMPTS["broken"])),
    "tools": tools,
    "tools streamed": tools_streamed,
    "image": lambda seen: read(seen, ask(with_picture())),
}
