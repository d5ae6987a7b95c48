"""Events of a stream have a bounded size, whatever they are made of."""

from __future__ import annotations

import pytest

from gateway.core.errors import StreamBroken
from gateway.providers.framing.sse import MAX_EVENT_BYTES, SseDecoder


@pytest.mark.parametrize("line", [b"data\n", b"data:\n", b"data: x\n", b"data:" + b"x" * 9999])
def test_an_event_that_never_ends_is_refused(line: bytes) -> None:
    decoder, chunk = SseDecoder(), line * (MAX_EVENT_BYTES // 50)

    with pytest.raises(StreamBroken):
        [decoder.feed(chunk) for _ in range(100)]


def test_an_event_of_nearly_the_limit_is_read() -> None:
    data = b"x" * (MAX_EVENT_BYTES - 10)

    assert SseDecoder().feed(b"data: " + data + b"\n\n") == [data]


@pytest.mark.parametrize("size", [1, 2, 7, 4096])
def test_a_line_in_many_pieces_is_put_together_once(size: int) -> None:
    decoder = SseDecoder()
    line = b"data: " + b"x" * 50_000

    for start in range(0, len(line), size):
        assert decoder.feed(line[start : start + size]) == []

    assert decoder.feed(b"\r") == []
    assert decoder.feed(b"\n") == []
    assert decoder.feed(b"\r\n") == [line[6:]]


def test_a_line_in_many_pieces_is_bounded() -> None:
    decoder = SseDecoder()

    with pytest.raises(StreamBroken):
        [decoder.feed(b"x" * 1_000) for _ in range(MAX_EVENT_BYTES // 1_000 + 2)]
