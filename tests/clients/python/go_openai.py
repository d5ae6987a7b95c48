"""A reader of ours that goes by the rules of go-openai 1.x, of which there is none for Python.

What it does as the Go package does: a line at a time, only `data: ` with its space; a line that
begins with `data: {"error":` is a failure, and no other is; what is no data counts as an empty
message, of which 300 in a row are too many; whatever is read has to have the types of the Go
structs, where null and absent are the zero value.
"""

from __future__ import annotations

import http.client
import json
import urllib.parse
from collections.abc import Iterator
from typing import Any

import msgspec

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

DATA, ERROR = b"data: ", b'data: {"error":'
MOST_EMPTY_MESSAGES = 300
WAIT_S = 60


class Function(msgspec.Struct):
    name: str | None = None
    arguments: str | None = None


class Call(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    type: str | None = None
    function: Function = msgspec.field(default_factory=Function)


class Said(msgspec.Struct):
    """A message, or the delta of one."""

    role: str | None = None
    content: str | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[Call] | None = None


class Details(msgspec.Struct):
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


class Usage(msgspec.Struct):
    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0
    prompt_tokens_details: Details | None = None
    completion_tokens_details: Details | None = None


class Choice(msgspec.Struct):
    index: int = 0
    message: Said | None = None
    delta: Said | None = None
    finish_reason: str | None = None


class Response(msgspec.Struct):
    """An answer, or a chunk of one."""

    id: str | None = None
    object: str | None = None
    created: int | None = None
    model: str | None = None
    choices: list[Choice] | None = None
    usage: Usage | None = None
    system_fingerprint: str | None = None
    service_tier: str | None = None


class ErrorBody(msgspec.Struct):
    message: str | list[str]
    code: str | int | None = None
    param: str | None = None
    type: str | None = None


class ErrorResponse(msgspec.Struct):
    error: ErrorBody


class APIError(Exception):
    """What the package returns for an error that the server told."""

    def __init__(self, told: ErrorResponse) -> None:
        super().__init__(told.error.message)
        self.code = told.error.code


class TooManyEmptyMessages(Exception):
    """The stream has sent too many lines without data."""


def version() -> str:
    return ""


def post(messages: list[Message], **members: Any) -> http.client.HTTPResponse:
    """Send a call. Raises APIError for a status other than 2xx."""
    address = urllib.parse.urlsplit(base_url())
    connection = http.client.HTTPConnection(address.netloc, timeout=WAIT_S)
    body = json.dumps({"model": MODEL, "messages": messages} | members)
    accept = "text/event-stream" if "stream" in members else "application/json"
    headers = {"content-type": "application/json", "accept": accept, "connection": "keep-alive"}
    headers |= {"cache-control": "no-cache"} if "stream" in members else {}
    connection.request(
        *("POST", f"{address.path}/chat/completions", body),
        headers | {"authorization": f"Bearer {KEY}"},
    )
    response = connection.getresponse()
    if not 200 <= response.status < 400:
        raise APIError(msgspec.json.decode(response.read(), type=ErrorResponse))
    return response


def ask(messages: list[Message], **members: Any) -> Response:
    """Make a buffered call."""
    return msgspec.json.decode(post(messages, **members).read(), type=Response)


def receive(messages: list[Message], **members: Any) -> Iterator[Response]:
    """Yield what each Recv of a stream returns, until the end of the file."""
    empty, gathered = 0, b""
    for raw in post(messages, stream=True, **members):
        if gathered.startswith(b"{"):  # the line behind an error is read, and no more
            raise APIError(msgspec.json.decode(gathered, type=ErrorResponse))
        line = raw.strip()
        is_error = line.startswith(ERROR)
        if is_error or not line.startswith(DATA):
            gathered += line.removeprefix(DATA) if is_error else line
            empty += 1
            if empty > MOST_EMPTY_MESSAGES:
                raise TooManyEmptyMessages
            continue
        if line == DATA + b"[DONE]":
            return
        empty, gathered = 0, b""
        yield msgspec.json.decode(line.removeprefix(DATA), type=Response)


def read(seen: Seen, response: Response, calls: ToolCalls | None = None) -> None:
    """Note an answer or a chunk, as the package's examples do: the first choice, unguarded."""
    choice = (response.choices or [])[0]
    said = choice.delta or choice.message or Said()
    seen.text += said.content or ""
    seen.finish = choice.finish_reason or seen.finish
    if response.usage:
        seen.count(msgspec.to_builtins(response.usage))
    if calls:
        calls.join(msgspec.json.decode(msgspec.json.encode(said.tool_calls)))


def stream(seen: Seen, messages: list[Message], **members: Any) -> None:
    for response in receive(messages, **members):
        read(seen, response)


def usage_asked(seen: Seen) -> None:
    asked = user(PROMPTS["plain"])
    for response in receive(asked, stream_options={"include_usage": True}):
        if response.choices:
            read(seen, response)
        elif response.usage:
            seen.count(msgspec.to_builtins(response.usage))


def failure(seen: Seen) -> None:
    with seen.failure():
        stream(seen, user(PROMPTS["broken"]))


def tools(seen: Seen) -> None:
    calls = ToolCalls()
    read(seen, ask(user(PROMPTS["tool"]), tools=[CITY_TOOL]), calls)
    finish, seen.calls = seen.finish, calls.named()
    read(seen, ask(calls.answered(PROMPTS["tool"]), tools=[CITY_TOOL]))
    seen.finish = finish


def tools_streamed(seen: Seen) -> None:
    calls = ToolCalls()
    for response in receive(user(PROMPTS["tool"]), tools=[CITY_TOOL]):
        read(seen, response, calls)
    finish, seen.calls = seen.finish, calls.named()
    stream(seen, calls.answered(PROMPTS["tool"]), tools=[CITY_TOOL])
    seen.finish = finish


CELLS: Cells = {
    "buffered": lambda seen: read(seen, ask(user(PROMPTS["plain"]))),
    "streamed": lambda seen: stream(seen, user(PROMPTS["plain"])),
    "usage asked": usage_asked,
    "usage declined": lambda seen: stream(
        seen, user(PROMPTS["plain"]), stream_options={"include_usage": False}
    ),
    "failure": failure,
    "tools": tools,
    "tools streamed": tools_streamed,
    "image": lambda seen: read(seen, ask(with_picture())),
}
