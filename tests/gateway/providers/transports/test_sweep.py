"""Answers cut and spoilt at every byte: no call hangs, and none gets a byte of another's."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.core.errors import ProviderUnavailable, StreamBroken
from tests.gateway.providers.transports.peer import (
    CLOSE,
    Answer,
    Script,
    answer,
    ask,
    ask_within,
    chunked,
    connecting,
    playing,
)

SECOND = answer(b"SECOND")
ANSWERS = {
    "length": answer(b"first", "x-a: b"),
    "chunks": chunked(b"fi", b"rst", end=b"0\r\nx-a: b\r\n\r\n"),
    "interim": b"HTTP/1.1 103 E\r\nx-a: b\r\n\r\n" + answer(b"first"),
}
AT_ONCE = 100
GIVE_UP_S = 0.3

pytestmark = pytest.mark.direct


async def first_and_second(script: Script) -> tuple[Answer | Exception | None, Answer]:
    """Make two calls; the first may fail, or be given up."""
    async with playing(script, [SECOND]) as peer, connecting() as transport:
        first: Answer | Exception | None
        try:
            first = await ask_within(transport, peer, GIVE_UP_S)
        except (ProviderUnavailable, StreamBroken) as error:
            first = error
        return first, await ask(transport, peer)


async def call_once(script: Script) -> None:
    """Make a call that comes to its end, good or bad."""
    async with playing(script) as peer, connecting() as transport:
        with suppress(ProviderUnavailable, StreamBroken):
            await ask(transport, peer)


async def play_all(scripts: Sequence[Script]) -> list[Answer | Exception | None]:
    """Return what the first calls came to; the second ones got what was meant for them."""
    firsts = []
    for start in range(0, len(scripts), AT_ONCE):
        some = scripts[start : start + AT_ONCE]
        ends = await asyncio.gather(*[first_and_second(script) for script in some])
        for script, (first, second) in zip(some, ends, strict=True):
            assert second == (200, {"content-length": "6"}, b"SECOND"), script
            firsts.append(first)
    return firsts


@pytest.mark.parametrize("name", ANSWERS)
async def test_an_answer_in_two_pieces_is_the_same_wherever_it_is_cut(name: str) -> None:
    whole = ANSWERS[name]
    firsts = await play_all([[whole[:at], whole[at:]] for at in range(1, len(whole))])

    for first in firsts:
        assert isinstance(first, Answer)
        assert first.body == b"first"


@pytest.mark.parametrize("name", ANSWERS)
async def test_an_answer_that_ends_too_early_is_broken_wherever_it_ends(name: str) -> None:
    whole = ANSWERS[name]
    firsts = await play_all([[whole[:at], CLOSE] for at in range(1, len(whole))])

    for first in firsts:
        assert isinstance(first, (ProviderUnavailable, StreamBroken))


@pytest.mark.parametrize("flip", [0x01, 0x10, 0x20, 0x80])
@pytest.mark.parametrize("name", ANSWERS)
async def test_a_spoilt_byte_spoils_one_call_at_most(name: str, flip: int) -> None:
    whole = ANSWERS[name]
    spoilt = [whole[:at] + bytes([whole[at] ^ flip]) + whole[at + 1 :] for at in range(len(whole))]
    for first in await play_all([[data] for data in spoilt]):
        assert not isinstance(first, Answer) or b"SECOND" not in first.body

    await asyncio.gather(*[call_once([data, CLOSE]) for data in spoilt])


PIECES = st.sampled_from(
    [
        *(b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 100 Continue\r\n", b"HTTP/1.0 204 No\r\n", b"\r\n"),
        *(b"content-length: 5\r\n", b"content-length: 0\r\n", b"transfer-encoding: chunked\r\n"),
        *(b"connection: close\r\n", b"connection: keep-alive\r\n", b"x: y\r\n", b"first"),
        *(b"5\r\nfirst\r\n", b"0\r\n\r\n", b"0\r\n", b"\n", b"\0", ANSWERS["length"]),
    ]
)


@given(st.lists(st.lists(PIECES, min_size=1, max_size=8), min_size=20, max_size=40))
@settings(max_examples=10)
async def test_whatever_comes_the_next_call_gets_its_own(answers: list[list[bytes]]) -> None:
    whole = [b"".join(pieces) for pieces in answers]
    await play_all([[data] for data in whole])
    halves = [(data[: len(data) // 2], data[len(data) // 2 :]) for data in whole]
    await asyncio.gather(*[call_once([*two, CLOSE]) for two in halves])
