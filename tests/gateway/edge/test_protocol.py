"""What a connection keeps of a request that has been answered: nothing."""

from __future__ import annotations

import gc
from typing import Any
from weakref import ref

import pytest

from tests.corpus.connection import Connection
from tests.corpus.wire import request

LENGTH = [(b"content-length", b"2")]


@pytest.mark.parametrize("headers", [LENGTH, []], ids=["whole", "in pieces"])
@pytest.mark.parametrize("status", [200, 404])
async def test_an_answered_request_goes_at_once(
    headers: list[tuple[bytes, bytes]], status: int
) -> None:
    replies: list[ref[Any]] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        replies.append(ref(send.__self__))
        await receive()
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"ab"})

    gc.collect()
    gc.disable()
    try:
        connection = Connection(application)
        for _ in range(3):
            await connection.say(request())

        # The last one is what the connection looks at when the next one comes.
        assert [reply() is None for reply in replies] == [True, True, False]
    finally:
        gc.enable()


async def test_a_request_whose_caller_left_goes_at_once() -> None:
    replies: list[ref[Any]] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        replies.append(ref(send.__self__))
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while (await receive())["type"] != "http.disconnect":
            pass

    gc.collect()
    gc.disable()
    try:
        connection = Connection(application)
        await connection.say(request())
        assert replies[0]() is not None

        connection.protocol.connection_lost(None)
        await connection.rest()
        del connection

        assert replies[0]() is None
    finally:
        gc.enable()
