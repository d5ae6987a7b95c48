"""JSON lines are read however they are cut, and have a bounded size."""

from __future__ import annotations

import pytest

from gateway.core.errors import StreamBroken
from gateway.providers.framing.json_lines import MAX_LINE_BYTES, JsonLines

STREAM = b'{"a":1}\n\n  \r\n{"b":"\xc3\xa9"}\r\n{"c":3}'
LINES = [b'{"a":1}', b'{"b":"\xc3\xa9"}', b'{"c":3}']


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
