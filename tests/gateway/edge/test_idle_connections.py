"""A connection that is closed for being idle had nothing to say."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gateway.edge.protocol import LAST_LOOK_S
from tests.corpus.answering import application
from tests.corpus.connection import Connection
from tests.corpus.wire import request

pytestmark = pytest.mark.anyio


async def looked_again() -> None:
    """Return when the last look at an idle connection is over."""
    over = asyncio.Event()
    asyncio.get_running_loop().call_later(2 * LAST_LOOK_S, over.set)
    await over.wait()


@pytest.mark.parametrize("close", ["dismiss", "on_deadline"])
async def test_a_request_that_arrives_while_its_connection_is_to_be_closed_is_answered(
    close: str,
) -> None:
    connection = Connection(application)
    end(connection, close)

    await connection.say(request(host="Host: 127.0.0.1"))
    await looked_again()

    assert connection.wire.written.startswith(b"HTTP/1.1 200 OK")
    assert not connection.wire.is_closed


@pytest.mark.parametrize("close", ["dismiss", "on_deadline"])
async def test_a_connection_that_stays_idle_is_closed(close: str) -> None:
    connection = Connection(application)
    end(connection, close)

    await looked_again()

    assert connection.wire.is_closed


def end(connection: Any, close: str) -> None:
    if close == "dismiss":
        connection.protocol.dismiss()
    else:
        connection.protocol.on_deadline(connection.protocol.deadline)
