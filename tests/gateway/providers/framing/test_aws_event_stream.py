"""AWS's event stream is read however it is cut, and nothing damaged passes."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from contextlib import suppress

import pytest

from gateway.core.errors import ProviderUnavailable, StreamBroken
from gateway.providers.framing.aws_event_stream import (
    MAX_HEADERS_BYTES,
    MAX_MESSAGE_BYTES,
    EventStream,
    PayloadParts,
)
from gateway.providers.framing.sse import SseDecoder
from tests.support.event_stream import (
    write_error,
    write_event,
    write_exception,
    write_header,
    write_message,
    write_raw,
)

STREAM = (
    write_event("messageStart", b'{"role":"assistant"}')
    + write_event("contentBlockDelta", '{"delta":{"text":"é 😀"}}'.encode())
    + write_event("ping", b"")
    + write_exception("throttlingException", b'{"message":"Slow down"}')
    + write_error("InternalFailure", 'Said "no"')
)
FRAMES = [
    b'{"messageStart":{"role":"assistant"}}',
    '{"contentBlockDelta":{"delta":{"text":"é 😀"}}}'.encode(),
    b'{"ping":null}',
    b'{"throttlingException":{"message":"Slow down"}}',
    b'{"error":{"code":"InternalFailure","message":"Said \\"no\\""}}',
]


def read(pieces: Iterable[bytes]) -> Iterator[bytes]:
    framing = EventStream()
    for piece in pieces:
        yield from framing.feed(piece)
    yield from framing.finish()


def frames_before_failure(pieces: Iterable[bytes]) -> tuple[list[bytes], bool]:
    """Return the frames, and whether the stream was found to be broken after them."""
    found: list[bytes] = []
    with suppress(StreamBroken):
        for frame in read(pieces):
            found.append(frame)  # those before a failure count
        return found, False
    return found, True


def test_messages_become_objects_with_one_member() -> None:
    assert list(read([STREAM])) == FRAMES


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 11, 12, 13, 64, 100])
def test_pieces_of_any_size_are_put_together(size: int) -> None:
    pieces = [STREAM[at : at + size] for at in range(0, len(STREAM), size)]

    assert list(read(pieces)) == FRAMES


def test_a_cut_at_any_byte_changes_nothing() -> None:
    for place in range(len(STREAM) + 1):
        assert list(read([STREAM[:place], STREAM[place:]])) == FRAMES


def test_a_stream_that_ends_in_a_message_is_broken() -> None:
    borders = {0}
    for frame in range(len(FRAMES)):
        borders.add(max(borders) + struct.unpack_from(">I", STREAM, max(borders))[0])
        assert len(borders) == frame + 2
    for place in range(len(STREAM) + 1):
        frames, is_broken = frames_before_failure([STREAM[:place]])
        assert frames == FRAMES[: len(frames)]
        assert is_broken == (place not in borders)


@pytest.mark.parametrize("size", [1, 50, len(STREAM)])
def test_no_flipped_bit_passes(size: int) -> None:
    for place in range(len(STREAM)):
        for bit in range(8) if size > 1 else (place % 8,):
            damaged = STREAM[:place] + bytes([STREAM[place] ^ 1 << bit]) + STREAM[place + 1 :]
            pieces = [damaged[at : at + size] for at in range(0, len(damaged), size)]
            frames, is_broken = frames_before_failure(pieces)
            assert is_broken
            assert frames == FRAMES[: len(frames)]


@pytest.mark.parametrize(
    "message",
    [
        write_event("a", b"x" * MAX_MESSAGE_BYTES),
        write_event("a" * MAX_HEADERS_BYTES, b"{}"),
    ],
)
def test_a_message_that_is_too_large_is_refused_by_its_prelude(message: bytes) -> None:
    with pytest.raises(StreamBroken, match="too large"):
        list(EventStream().feed(message[:12]))


def test_a_large_message_in_small_pieces_takes_no_longer_than_its_length() -> None:
    message = write_event("a", b'"%b"' % (b"x" * 500_000))

    assert list(read(message[at : at + 3] for at in range(0, len(message), 3))) == [
        b'{"a":"%b"}' % (b"x" * 500_000)
    ]


@pytest.mark.parametrize(
    "headers",
    [
        b"",
        write_header(":message-type", "event"),
        write_header(":message-type", "brand-new") + write_header(":event-type", "a"),
        write_header(":message-type", "exception") + write_header(":event-type", "a"),
        write_header(":event-type", "a"),
        b"\x05ab",
        b"\x01a\x0a",
        b"\x01a\x07\xff\xffb",
        b"\x01a\x07\x00\x01\xff",
        b"\x01a\x04\x00",
    ],
)
def test_headers_that_make_no_sense_are_refused(headers: bytes) -> None:
    with pytest.raises(StreamBroken):
        list(EventStream().feed(write_raw(b"{}", headers)))


def test_headers_of_every_type_are_passed_over() -> None:
    sizes = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
    others = b"".join(b"\x01x%c%b" % (kind, bytes(size)) for kind, size in sizes.items())
    others += b"\x01y\x06\x00\x03\xff\xff\xff"
    said = write_header(":message-type", "event") + write_header(":event-type", "a")

    assert list(EventStream().feed(write_raw(b"{}", others + said))) == [b'{"a":{}}']


def test_a_stream_in_payloads_is_read_however_it_is_cut() -> None:
    inner = b'data: {"a":1}\n\ndata: [DONE]\n\n'
    for size in range(1, len(inner) + 1):
        parts = (inner[at : at + size] for at in range(0, len(inner), size))
        whole = b"".join(write_event("PayloadPart", part) for part in parts)
        framing = PayloadParts(SseDecoder(), lambda *_: ProviderUnavailable())
        assert [*framing.feed(whole), *framing.finish()] == [b'{"a":1}', b"[DONE]"]


def test_an_exception_between_payloads_says_what_it_means() -> None:
    told: list[tuple[str, bytes]] = []

    def note(name: str, payload: bytes) -> ProviderUnavailable:
        told.append((name, payload))
        return ProviderUnavailable()

    whole = write_event("PayloadPart", b"data: 1\n\n") + write_message(
        b'{"Message":"No"}', {":message-type": "exception", ":exception-type": "ModelStreamError"}
    )
    frames = PayloadParts(SseDecoder(), note).feed(whole)

    assert next(iter(frames)) == b"1"
    with pytest.raises(ProviderUnavailable):
        list(frames)
    assert told == [("ModelStreamError", b'{"Message":"No"}')]
