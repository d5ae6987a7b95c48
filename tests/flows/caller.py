"""A plain caller: HTTP over one socket a call, nothing retried, nothing repaired."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from http.client import HTTPConnection, HTTPResponse, IncompleteRead
from typing import Any, Self

READ_S = 60
CHAT = "/v1/chat/completions"
RESET_ON_CLOSE = struct.pack("ii", 1, 0)
DONE = "[DONE]"


@dataclass(frozen=True)
class Answer:
    """A whole response. is_whole: the connection did not break off before its end."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    is_whole: bool = True

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> dict[str, Any]:
        error: dict[str, Any] = self.json["error"]
        return error

    @property
    def call_id(self) -> str:
        return self.headers["x-request-id"]

    @property
    def events(self) -> list[Any]:
        """Return each event's data, parsed; [DONE] stays text. Comments are left out."""
        return [read_event(frame) for frame in self.frames if frame.startswith("data: ")]

    @property
    def frames(self) -> list[str]:
        return [frame for frame in self.body.decode().split("\n\n") if frame]

    @property
    def chunks(self) -> list[dict[str, Any]]:
        return [event for event in self.events if event != DONE]

    @property
    def text(self) -> str:
        """Return what the first choice says, streamed or not."""
        if self.headers["content-type"].startswith("text/event-stream"):
            return said_by(self.chunks)
        return str(self.json["choices"][0]["message"]["content"])

    @property
    def echo(self) -> dict[str, Any]:
        """Return the request as it reached the upstream, for a call scripted `echo`."""
        echoed: dict[str, Any] = json.loads(self.text)
        return echoed


class LiveCall:
    """A call whose request is sent. Close it, or use it in a with block."""

    def __init__(self, connection: HTTPConnection) -> None:
        assert connection.sock is not None
        self.socket: socket.socket = connection.sock
        self._connection = connection
        self._response: HTTPResponse | None = None

    def __enter__(self) -> LiveCall:
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()

    @property
    def response(self) -> HTTPResponse:
        """Return the head of the response, waiting for it."""
        if self._response is None:
            self._response = self._connection.getresponse()
        return self._response

    @property
    def call_id(self) -> str:
        return self.response.headers["x-request-id"]

    def answer(self) -> Answer:
        """Read the rest of the response and close the connection."""
        headers = {name.lower(): value for name, value in self.response.getheaders()}
        is_whole = True
        try:
            body = self.response.read()
        except IncompleteRead as error:
            body, is_whole = error.partial, False
        self.close()
        return Answer(self.response.status, headers, body, is_whole)

    def lines(self) -> Iterator[str]:
        """Yield the lines of a stream as they come, without the empty ones."""
        while line := self.response.readline():
            if text := line.decode().rstrip("\n"):
                yield text

    def events(self) -> Iterator[Any]:
        """Yield each event's data as it comes."""
        return (read_event(line) for line in self.lines() if line.startswith("data: "))

    def wait_for_tokens(self, count: int) -> None:
        """Return when so many pieces of text have arrived."""
        found = 0
        for event in self.events():
            found += bool(said_by([event]))
            if found == count:
                return
        raise AssertionError(f"The stream ended after {found} of {count} tokens.")

    def leave(self) -> None:
        """Hang up as a program does that ends: a FIN."""
        self.socket.shutdown(socket.SHUT_RDWR)
        self.close()

    def reset(self) -> None:
        """Hang up as a machine does that dies: an RST."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
        self.close()

    def close(self) -> None:
        if self._response is not None:
            self._response.close()
        self._connection.close()
        self.socket.close()


@dataclass(frozen=True)
class Caller:
    """A program with a key. `with_` gives the same caller, differing in something."""

    port: int
    secret: str
    key_id: str
    workspace_id: str
    model: str = "fake-model"

    def with_(self, **changes: Any) -> Self:
        return replace(self, **changes)

    def begin(
        self,
        prompt: str = "hello there",
        *,
        raw: bytes | Iterable[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
        path: str = CHAT,
        method: str = "POST",
        **members: Any,
    ) -> LiveCall:
        """Send a call. members: of the body, beside model and messages. raw: the body itself, or
        its chunks."""
        messages = [{"role": "user", "content": prompt}]
        body = {"model": self.model, "messages": messages} | members
        sent = {"content-type": "application/json", "authorization": f"Bearer {self.secret}"}
        sent |= headers or {}
        connection = HTTPConnection("127.0.0.1", self.port, timeout=READ_S)
        connection.request(
            method,
            path,
            body=json.dumps(body).encode() if raw is None else raw,
            headers={name: value for name, value in sent.items() if value},
        )
        return LiveCall(connection)

    def ask(self, prompt: str = "hello there", **options: Any) -> Answer:
        """Make a call and read its whole response."""
        return self.begin(prompt, **options).answer()

    def stream(self, prompt: str = "hello there", **options: Any) -> Answer:
        return self.ask(prompt, stream=True, **options)


def read_event(text: str) -> Any:
    data = text.removeprefix("data: ")
    return DONE if data == DONE else json.loads(data)


def said_by(events: list[Any]) -> str:
    """Return the text of the first choice in these events."""
    choices = [event["choices"][0] for event in events if event != DONE and event.get("choices")]
    return "".join(choice["delta"].get("content") or "" for choice in choices)
