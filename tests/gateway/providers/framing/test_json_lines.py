"""JSON lines are read however they are cut and spoilt, and have a bounded size."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from gateway.core.errors import StreamBroken, UpstreamError
from gateway.providers.framing.json_lines import MAX_LINE_BYTES, JsonLines
from gateway.providers.tgi.chat import TgiChat
from tests.corpus.test_sweeps import flips
from tests.corpus.test_upstream_sweeps import EVENTS, REQUEST

STREAM = b'{"a":1}\n\n  \r\n{"b":"\xc3\xa9"}\r\n{"c":3}'
LINES = [b'{"a":1}', b'{"b":"\xc3\xa9"}', b'{"c":3}']
# A server's answer, but for the end that server-sent events have.
ANSWER = "".join(f"{event}\n" for event in EVENTS[:-1]).encode()


@pytest.mark.parametrize("size", range(1, len(STREAM) + 1))
def test_lines_are_put_together(size: int) -> None:
    framing = JsonLines()
    pieces = [STREAM[at : at + size] for at in range(0, len(STREAM), size)]

    found = [line for piece in pieces for line in framing.feed(piece)]

    assert [*found, *framing.finish()] == LINES


def test_a_line_is_bounded() -> None:
    framing = JsonLines()
    frames = framing.feed(b"1\n" + b"x" * (MAX_LINE_BYTES + 1))

    assert next(frames) == b"1"
    with pytest.raises(StreamBroken):
        list(frames)
    with pytest.raises(StreamBroken):
        [list(JsonLines().feed(b"x" * (MAX_LINE_BYTES + 2) + b"\n"))]


def decode(pieces: Sequence[bytes]) -> tuple[list[object], bool]:
    """Return the events of an answer that arrives in these pieces, and whether it made sense."""
    framing = JsonLines()
    decoder = TgiChat().open_decoder(REQUEST)
    events: list[object] = []
    try:
        for piece in pieces:
            for line in framing.feed(piece):
                events += decoder.read(line)
        for line in framing.finish():
            events += decoder.read(line)
    except UpstreamError:
        return events, False
    return events, True


def test_an_answer_may_be_cut_anywhere() -> None:
    whole = decode([ANSWER])

    assert whole[1]
    assert len(whole[0]) > 4
    for place in range(len(ANSWER) + 1):
        assert decode([ANSWER[:place], ANSWER[place:]]) == whole
    for size in range(len(ANSWER)):
        events, _ = decode([ANSWER[:size]])
        assert events == whole[0][: len(events)]


def test_any_bit_of_an_answer_may_flip() -> None:
    whole = decode([ANSWER])

    unharmed = [decode([flipped]) == whole for flipped in flips(ANSWER)]

    assert 0 < sum(unharmed) < len(unharmed)
