"""What leaves is what uvicorn would have sent, byte for byte, and the connection ends up alike."""

from __future__ import annotations

import asyncio
import logging
from types import SimpleNamespace
from typing import Any

import pytest
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from gateway.edge.reply import Reply

Messages = list[dict[str, Any]]
JSON = (b"content-type", b"application/json")


class Wire:
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        self.writes = list[bytes]()
        self.is_closed = False

    @property
    def written(self) -> bytes:
        return b"".join(self.writes)

    def write(self, data: bytes) -> None:
        self.writes.append(data)

    def close(self) -> None:
        self.is_closed = True


def start(*headers: tuple[bytes, bytes], status: int = 200) -> dict[str, Any]:
    return {"type": "http.response.start", "status": status, "headers": list(headers)}


def body(data: bytes = b"", *, more: bool = False) -> dict[str, Any]:
    return {"type": "http.response.body", "body": data, "more_body": more}


def length(data: bytes, name: bytes = b"content-length") -> tuple[bytes, bytes]:
    return (name, b"%d" % len(data))


def make_cycle(
    kind: type[RequestResponseCycle], wire: Wire, method: str = "POST", keep_alive: bool = True
) -> RequestResponseCycle:
    return kind(
        scope={"type": "http", "http_version": "1.1", "method": method},  # type: ignore[typeddict-item]
        transport=wire,  # type: ignore[arg-type]
        flow=SimpleNamespace(write_paused=False),  # type: ignore[arg-type]
        logger=logging.getLogger("tests"),
        access_logger=logging.getLogger("tests"),
        access_log=False,
        default_headers=[(b"date", b"today")],
        message_event=asyncio.Event(),
        expect_100_continue=False,
        keep_alive=keep_alive,
        on_response=lambda: None,
    )


def answer(messages: Messages, *, way: str, method: str, keep_alive: bool) -> dict[str, Any]:
    """Return all there is to see of an answer to these messages, sent by uvicorn, by our send, or
    at once as far as possible."""
    wire, ends = Wire(), list[str]()
    cycle = make_cycle(
        RequestResponseCycle if way == "uvicorn" else Reply, wire, method, keep_alive
    )
    cycle.on_response = lambda: ends.append("over")
    send: Any = cycle.send
    problem = ""

    async def say() -> None:
        for message in messages:
            is_piece = way == "at once" and message.get("more_body")
            if is_piece and isinstance(cycle, Reply) and cycle.write_now(message["body"]):
                continue
            await send(message)

    try:
        asyncio.run(say())
    except RuntimeError as error:
        problem = str(error)
    return {
        "written": wire.written,
        "closed": wire.is_closed,
        "problem": problem,
        "ends": ends,
        "complete": cycle.response_complete,
        "heard": cycle.message_event.is_set(),
    }


ANSWERS: dict[str, Messages] = {
    "whole": [start(JSON, length(b"{}")), body(b"{}")],
    "whole, in Django's spelling": [start(length(b"{}", b"Content-Length")), body(b"{}")],
    "nothing": [start(length(b"")), body()],
    "in two parts": [start(length(b"abcd")), body(b"ab", more=True), body(b"cd")],
    "shorter than said": [start(length(b"abcd")), body(b"ab")],
    "longer than said": [start(length(b"ab")), body(b"abcd")],
    "a stream": [start(JSON), body(b"one", more=True), body(b"two", more=True), body()],
    "a stream with silence in it": [start(JSON), body(b"", more=True), body(b"x", more=True)],
    "a stream that ends with a piece": [start(JSON), body(b"one", more=True), body(b"two")],
    "another status": [start(length(b"no"), status=404), body(b"no")],
    "no content": [start(status=204), body()],
    "not modified": [start((b"etag", b"x"), status=304), body()],
    "an end of the connection": [start(length(b"ab"), (b"connection", b"close")), body(b"ab")],
    "chunked by itself": [start((b"transfer-encoding", b"chunked")), body(b"ab")],
    "a line break in a value": [start((b"x-a", b"b\r\nx-c: d"), length(b"ab")), body(b"ab")],
    "a control character": [start((b"x-a", b"b\x00c"), length(b"ab")), body(b"ab")],
    "a tab": [start((b"x-a", b"b\tc"), length(b"ab")), body(b"ab")],
    "the body first": [body(b"ab")],
    "two heads": [start(JSON), start(JSON), body(b"ab")],
    "two ends": [start(length(b"ab")), body(b"ab"), body(b"cd")],
}


@pytest.mark.parametrize("way", ["send", "at once"])
@pytest.mark.parametrize("keep_alive", [True, False])
@pytest.mark.parametrize("method", ["GET", "POST", "HEAD"])
@pytest.mark.parametrize("name", ANSWERS)
def test_it_is_what_uvicorn_would_send(name: str, method: str, keep_alive: bool, way: str) -> None:
    ours, theirs = (
        answer(ANSWERS[name], way=each, method=method, keep_alive=keep_alive)
        for each in (way, "uvicorn")
    )

    assert ours == theirs


def test_a_head_that_nothing_follows_is_not_written() -> None:
    seen = answer([start(length(b"ab"))], way="send", method="POST", keep_alive=True)

    assert (seen["written"], seen["complete"]) == (b"", False)


def test_what_is_there_at_once_of_a_stream_is_one_write() -> None:
    wire = Wire()

    async def say(*pauses: int) -> None:
        reply: Any = make_cycle(Reply, wire)
        for number, message in enumerate(ANSWERS["a stream that ends with a piece"]):
            if number in pauses:
                await asyncio.sleep(0)
            await reply.send(message)

    asyncio.run(say())

    assert len(wire.writes) == 1
    whole = wire.writes.pop()

    asyncio.run(say(1, 2))

    assert len(wire.writes) == 3
    assert wire.written == whole


def test_a_piece_is_not_written_at_once_while_the_connection_is_full() -> None:
    wire = Wire()
    reply: Any = make_cycle(Reply, wire)
    reply.response_started = reply.chunked_encoding = reply.flow.write_paused = True

    assert not reply.write_now(b"piece")
    assert wire.written == b""

    reply.flow.write_paused = False

    assert reply.write_now(b"piece")
    assert wire.written == b"5\r\npiece\r\n"
