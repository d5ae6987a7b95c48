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
