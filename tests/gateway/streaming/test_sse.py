"""Events of a stream have a bounded size, whatever they are made of."""

from __future__ import annotations

import pytest

from gateway.core.errors import StreamBroken
from gateway.streaming.sse import MAX_EVENT_BYTES, SseDecoder


@pytest.mark.parametrize("line", [b"data\n", b"data:\n", b"data: x\n", b"data:" + b"x" * 9999])
def test_an_event_that_never_ends_is_refused(line: bytes) -> None:
    decoder, chunk = SseDecoder(), line * (MAX_EVENT_BYTES // 50)

    with pytest.raises(StreamBroken):
        [decoder.feed(chunk) for _ in range(100)]


def test_an_event_of_nearly_the_limit_is_read() -> None:
    data = b"x" * (MAX_EVENT_BYTES - 10)

    assert SseDecoder().feed(b"data: " + data + b"\n\n") == [data]
