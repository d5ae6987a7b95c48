"""What the edge takes over from the pinned uvicorn: an update that changes it fails here."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from gateway.edge.reply import Reply
from gateway.edge.reply_protocol import ReplyProtocol
from tests.corpus.connection import Guarded, Wire

REQUESTS = {
    "a page": b"GET /a/page?x=1&y=%20 HTTP/1.1\r\nHost: here\r\n\r\n",
    "no query": b"GET / HTTP/1.1\r\nHost: here\r\n\r\n",
    "an escaped path": b"GET /a%20b/%E2%82%AC?q HTTP/1.1\r\nHost: here\r\n\r\n",
    "an empty query": b"GET /? HTTP/1.1\r\nHost: here\r\n\r\n",
    "a whole address": b"GET http://here/there?x HTTP/1.1\r\nHost: here\r\n\r\n",
    "a body": b"POST /v1/x HTTP/1.1\r\nHost: here\r\nContent-Length: 2\r\n\r\n{}",
    "a body to come": b"POST /v1/x HTTP/1.1\r\nHost: here\r\nContent-Length: 2\r\n\r\n",
    "chunks": (
        b"POST / HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n"
    ),
    "HTTP/1.0": b"GET / HTTP/1.0\r\n\r\n",
    "the last request": b"GET / HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n",
    "a body to be asked for": (
        b"POST / HTTP/1.1\r\nHost: here\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
    ),
    "two at once": b"GET /1 HTTP/1.1\r\nHost: here\r\n\r\nGET /2 HTTP/1.1\r\nHost: here\r\n\r\n",
}


class Ours(ReplyProtocol):
    limiter = Guarded.limiter


async def never_ends(scope: Any, receive: Any, send: Any) -> None:
    await asyncio.Event().wait()


def receive(kind: type[HttpToolsProtocol], request: bytes, root_path: str) -> HttpToolsProtocol:
    """Return the protocol as it is when the bytes of a request have arrived."""
    config = Config(
        never_ends, log_level="critical", lifespan="off", ws="none", root_path=root_path
    )
    config.load()
    loop = asyncio.get_running_loop()
    protocol = kind(config=config, server_state=ServerState(), app_state={}, _loop=loop)
    protocol.connection_made(Wire())
    protocol.data_received(request)
    return protocol


def described(cycle: RequestResponseCycle) -> dict[str, Any]:
    """Return all that a reply was made with, and the state of its body."""
    state = dict(vars(cycle))
    for own in ("transport", "flow", "message_event", "on_response"):
        state[own] = type(state[own])
    return state | {"hears": cycle.message_event.is_set(), "refusal_rate": None}


@pytest.mark.parametrize("root_path", ["", "/mounted"])
@pytest.mark.parametrize("request_bytes", REQUESTS.values(), ids=REQUESTS)
async def test_a_reply_is_made_as_uvicorn_makes_its_cycle(
    request_bytes: bytes, root_path: str
) -> None:
    theirs = receive(HttpToolsProtocol, request_bytes, root_path)
    ours = receive(Ours, request_bytes, root_path)

    assert type(ours.cycle) is Reply
    assert type(theirs.cycle) is RequestResponseCycle
    assert described(ours.cycle) == described(theirs.cycle)
    assert [cycle.scope for cycle, _ in ours.pipeline] == [c.scope for c, _ in theirs.pipeline]
    assert ours.flow.read_paused == theirs.flow.read_paused
    assert len(ours.tasks) == len(theirs.tasks) == 1

    for task in [*ours.tasks, *theirs.tasks]:
        task.cancel()
    await asyncio.gather(*ours.tasks, *theirs.tasks, return_exceptions=True)


def test_a_reply_takes_what_uvicorns_cycle_takes() -> None:
    taken = inspect.signature(RequestResponseCycle.__init__).parameters

    assert inspect.signature(Reply.__init__).parameters == taken
    assert list(taken) == [
        *("self", "scope", "transport", "flow", "logger", "access_logger", "access_log"),
        *("default_headers", "message_event", "expect_100_continue", "keep_alive", "on_response"),
    ]
