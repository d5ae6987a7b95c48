"""A plain client of the fake upstream, for its own tests: bytes out, bytes in, nothing repaired."""

from __future__ import annotations

import json
import socket
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from tests.support.servers import UpstreamServer

READ_S = 60


def script(**fields: Any) -> str:
    """Return the message that asks for a behaviour; a list repeats its field."""
    return "script:" + urlencode(fields, doseq=True, quote_via=quote)


def request_bytes(prompt: str, *, request_id: str = "", **body: Any) -> bytes:
    """Return one chat-completions request as it goes over the wire."""
    messages = [{"role": "user", "content": prompt}]
    data = json.dumps({"model": "fake", "messages": messages} | body).encode()
    head = (
        "POST /v1/chat/completions HTTP/1.1\r\nhost: fake\r\ncontent-type: application/json\r\n"
        f"x-request-id: {request_id or uuid.uuid4()}\r\ncontent-length: {len(data)}\r\n\r\n"
    )
    return head.encode() + data


def messages_bytes(
    body: dict[str, Any], headers: Mapping[str, str], *, path: str = "/anthropic/v1"
) -> bytes:
    """Return one request to Anthropic's Messages API as it goes over the wire."""
    data = json.dumps(body).encode()
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    head = (
        f"POST {path}/messages HTTP/1.1\r\nhost: fake\r\ncontent-type: application/json\r\n"
        f"{lines}content-length: {len(data)}\r\n\r\n"
    )
    return head.encode() + data


@dataclass
class Reply:
    """What came back until the end of the response or of the connection."""

    status: int
    headers: dict[str, str]
    body: bytes  # without HTTP framing
    complete: bool  # the framing's own end was seen
    was_reset: bool = False
    rest: bytes = b""  # what came after it on the same connection

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def text(self) -> str:
        """Return the content of a buffered answer."""
        return str(self.json["choices"][0]["message"]["content"])

    @property
    def events(self) -> list[Any]:
        """Return the data of each event, parsed; [DONE] stays text. For well-spelled streams."""
        lines = [line for line in self.body.decode().split("\n\n") if line]
        datas = [line.removeprefix("data: ") for line in lines]
        return [data if data == "[DONE]" else json.loads(data) for data in datas]

    @property
    def said(self) -> str:
        """Return the content of a stream's first choice, put together."""
        chunks = [event for event in self.events if event != "[DONE]" and event.get("choices")]
        return "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks)


def connect(upstream: UpstreamServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", upstream.port), timeout=READ_S)


def ask(upstream: UpstreamServer, prompt: str, **body: Any) -> Reply:
    """Make one call on a connection of its own."""
    with connect(upstream) as link:
        link.sendall(request_bytes(prompt, **body))
        return read_reply(link)


def read_reply(link: socket.socket, received: bytes = b"") -> Reply:
    """Read one response: to the end of its framing, or of the connection.

    `received` is what an earlier reply on the connection left over.
    """
    was_reset = False
    reply = _parse(received, ended=False)
    while not reply.complete:
        try:
            data = link.recv(65536)
        except ConnectionResetError:
            data, was_reset = b"", True
        received += data
        reply = _parse(received, ended=not data)
        if not data:
            break
    reply.was_reset = was_reset
    return reply


def _parse(received: bytes, *, ended: bool) -> Reply:
    head, found, rest = received.partition(b"\r\n\r\n")
    if not found:
        return Reply(0, {}, b"", complete=False)
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    status = int(first.split(" ")[1])
    if headers.get("transfer-encoding") == "chunked":
        body, complete, rest = _unchunk(rest)
    elif "content-length" in headers:
        length = int(headers["content-length"])
        body, complete, rest = rest[:length], len(rest) >= length, rest[length:]
    else:
        body, complete, rest = rest, ended, b""
    return Reply(status, headers, body, complete, rest=rest)


def _unchunk(data: bytes) -> tuple[bytes, bool, bytes]:
    body = b""
    while b"\r\n" in data:
        size, _, data = data.partition(b"\r\n")
        count = int(size, 16)
        if count == 0:
            return body, True, data[2:]
        body += data[:count]
        data = data[count + 2 :]
    return body, False, b""
