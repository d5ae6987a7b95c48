"""What is left behind of a call: no connection, no socket, no object of ours."""

from __future__ import annotations

import gc
import os
from collections.abc import Awaitable, Callable

import pytest

from gateway.core.errors import ProviderUnavailable
from gateway.providers.transports.base import Transport
from gateway.providers.transports.direct import DirectTransport
from gateway.providers.transports.direct_connection import Connection
from gateway.providers.transports.direct_response import DirectResponse
from gateway.providers.transports.httpx_stream import SocketStream
from gateway.providers.transports.httpx_transport import HttpxResponse
from tests.gateway.providers.transports.peer import (
    CLOSE,
    HOLD,
    Peer,
    Script,
    answer,
    ask,
    ask_within,
    connecting,
    playing,
)
from tests.support.waiting import async_wait_until

FIRST = answer(b"first")


def sockets() -> int:
    names = [f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd")]
    return sum(os.readlink(name).startswith("socket:") for name in names if os.path.lexists(name))


def left_over() -> int:
    """Return how many objects of ours nobody has freed; cycles are never freed here."""
    ours = (Connection, DirectResponse, DirectTransport, SocketStream, HttpxResponse)
    return sum(type(thing) in ours for thing in gc.get_objects())


async def whole(transport: Transport, peer: Peer) -> None:
    await ask(transport, peer)


async def broken(transport: Transport, peer: Peer) -> None:
    with pytest.raises(ProviderUnavailable):
        await ask(transport, peer)


async def given_up(transport: Transport, peer: Peer) -> None:
    assert await ask_within(transport, peer, 0.05) is None


@pytest.mark.parametrize(
    ("script", "call"),
    [
        ([FIRST], whole),
        ([FIRST, CLOSE], whole),
        ([CLOSE], broken),
        ([b"rubbish\r\n\r\n", HOLD], broken),
        ([HOLD], given_up),
        ([FIRST[:-1], HOLD], given_up),
    ],
)
async def test_nothing_is_left_of_a_call(
    script: Script, call: Callable[[Transport, Peer], Awaitable[None]], kind: str
) -> None:
    gc.collect()
    gc.freeze()  # looks at what comes from now on, not at the million objects of all the tests
    gc.disable()
    try:
        before, sockets_before = left_over(), sockets()
        async with playing(script) as peer:
            async with connecting() as transport:
                await call(transport, peer)
            await peer.all_ended()
            del transport, peer

        async def is_gone() -> bool:
            if kind == "httpx":
                gc.collect()  # its errors know the frames that they came through
            return (left_over(), sockets()) == (before, sockets_before)

        await async_wait_until(is_gone, what="everything to be gone")
    finally:
        gc.enable()
        gc.unfreeze()
