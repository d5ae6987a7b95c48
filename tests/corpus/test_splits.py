"""Where the network cuts a stream of bytes must not matter: the same answers come back."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import pairwise

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.corpus.answering import application
from tests.corpus.connection import Connection
from tests.corpus.framing import CASES, chunked
from tests.corpus.wire import request, split_answer

SHORT = [case.raw for case in CASES if len(case.raw) < 2_000]
GOOD = [
    request(),
    request(body=b""),
    request(line="GET / HTTP/1.1", body=b"", sized=False),
    chunked(b"5\r\nhello\r\n6;a=b\r\n world\r\n0\r\nX-A: b\r\n\r\n"),
    request("Connection: close"),
    request("Connection: Upgrade", "Upgrade: h2c"),
    request("X_A: b", line="POST / HTTP/1.0"),
]


async def answers_to(pieces: Sequence[bytes]) -> tuple[list[int], bool]:
    """Return the statuses that come back, and whether the connection was closed."""
    connection = Connection(application)
    wire = connection.wire
    for piece in pieces:
        if wire.is_closed:
            break
        await connection.say(piece)
    connection.protocol.connection_lost(None)
    statuses, rest = [], wire.written
    while (found := split_answer(rest)) is not None:
        answer, rest = found
        statuses.append(answer.status)
    assert rest == b""
    return statuses, wire.is_closed


def cut(raw: bytes, places: Sequence[int]) -> list[bytes]:
    marks = [0, *sorted({place % (len(raw) + 1) for place in places}), len(raw)]
    return [raw[a:b] for a, b in pairwise(marks) if a < b]


@st.composite
def streams(draw: st.DrawFn) -> bytes:
    """Requests behind each other, good and bad, with a few bytes changed, lost or added."""
    raw = b"".join(draw(st.lists(st.sampled_from(GOOD * 8 + SHORT), min_size=1, max_size=4)))
    for place, change in draw(
        st.lists(st.tuples(st.integers(0, 5_000), st.binary(max_size=3)), max_size=3)
    ):
        place %= len(raw) + 1
        raw = raw[:place] + change + raw[place + draw(st.integers(0, 2)) :]
    return raw


@settings(max_examples=150)
@given(raw=streams(), places=st.lists(st.integers(0, 5_000), max_size=8))
@example(raw=GOOD[0] + GOOD[5], places=[170])
def test_the_same_bytes_get_the_same_answers_however_they_are_cut(
    raw: bytes, places: list[int]
) -> None:
    whole = asyncio.run(answers_to([raw]))
    pieces = asyncio.run(answers_to(cut(raw, places)))

    assert pieces == whole
    assert all(status < 500 for status in whole[0])
