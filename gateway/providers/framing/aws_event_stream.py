"""AWS's binary event stream, application/vnd.amazon.eventstream.

Reference: https://smithy.io/2.0/aws/amazon-eventstream.html
A message is a prelude (its length, the length of its headers, a CRC of both), headers, a payload
and a CRC of it all. What a message is stands in its headers: `:message-type` says event, exception
or error, and another header names which.

A frame is handed on as the JSON that the service's model has for it, an object with one member:
`{"contentBlockDelta":<payload>}`. Exceptions are members like events, and an error that has no
payload is `{"error":{"code":…,"message":…}}`. So a decoder needs nothing but the frame.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from zlib import crc32

import msgspec

from gateway.core.errors import StreamBroken, UpstreamError
from gateway.providers.base import Framing

# Of one message. The protocol allows 16 MB; what models send are words.
MAX_MESSAGE_BYTES = 1024 * 1024
MAX_HEADERS_BYTES = 16 * 1024
PRELUDE_BYTES, CRC_BYTES = 12, 4
LEAST_MESSAGE_BYTES = PRELUDE_BYTES + CRC_BYTES
EVENT, EXCEPTION, ERROR = "event", "exception", "error"
# Which header names a message of each type.
_NAMED_BY = {EVENT: ":event-type", EXCEPTION: ":exception-type", ERROR: ":error-code"}
# The types of header values, and how long they are. Two more have their length before them.
_SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
_BYTES, _STRING = 6, 7
_read_prelude = struct.Struct(">III").unpack_from
_read_crc = struct.Struct(">I").unpack_from
_read_length = struct.Struct(">H").unpack_from
_encode = msgspec.json.encode


class Label(msgspec.Struct, frozen=True):
    """What a message is by its headers. text: that of an error, which has no payload."""

    kind: str
    name: str
    text: str = ""


class EventStreamMessages:
    """Cuts a body into messages, each a label and a payload."""

    __slots__ = ("_held", "_needed_bytes")

    def __init__(self) -> None:
        self._held = bytearray()
        # So much has to be there before it is worth another look.
        self._needed_bytes = 0

    def feed(self, chunk: bytes) -> Iterator[tuple[Label, bytes]]:
        """Yield the messages that this chunk completes. Raises StreamBroken after those before the
        one that is damaged or too large."""
        if self._held:
            self._held += chunk
            if len(self._held) < self._needed_bytes:
                return
            chunk = bytes(self._held)
            self._held.clear()
        place = 0
        while (length := self._measure(chunk, place)) <= len(chunk) - place:
            yield _open(chunk[place : place + length])
            place += length
        self._needed_bytes = length
        if place < len(chunk):
            self._held += chunk[place:]

    def finish(self) -> None:
        """Raises StreamBroken when the body ended inside of a message."""
        if self._held:
            raise StreamBroken("The provider's stream ended in the middle of a message.")

    def _measure(self, chunk: bytes, place: int) -> int:
        """Return the length of the message that begins there, of its prelude where that is not
        complete. Raises StreamBroken."""
        if len(chunk) - place < PRELUDE_BYTES:
            return PRELUDE_BYTES
        length, headers, crc = _read_prelude(chunk, place)
        if crc32(chunk[place : place + 8]) != crc:
            raise _damaged()
        if length > MAX_MESSAGE_BYTES or headers > MAX_HEADERS_BYTES:
            raise StreamBroken("The provider sent an event that is too large.")
        if length < LEAST_MESSAGE_BYTES + headers:
            raise _damaged()
        return int(length)


class EventStream:
    """The framing of streams whose payloads are JSON."""

    __slots__ = ("_messages",)

    def __init__(self) -> None:
        self._messages = EventStreamMessages()

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        for label, payload in self._messages.feed(chunk):
            yield write_frame(label, payload)

    def finish(self) -> Iterator[bytes]:
        self._messages.finish()
        return iter(())


class PayloadParts:
    """The framing of a stream that another one is sent in: the payloads of all events together are
    the inner stream, cut anywhere."""

    __slots__ = ("_inner", "_messages", "_read_exception")

    def __init__(self, inner: Framing, read_exception: Callable[[str, bytes], UpstreamError]):
        """read_exception: says what an exception means, by its name and its payload."""
        self._messages = EventStreamMessages()
        self._inner = inner
        self._read_exception = read_exception

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        for label, payload in self._messages.feed(chunk):
            if label.kind == EVENT:
                yield from self._inner.feed(payload)
            else:
                text = payload or _encode({"message": label.text})
                raise self._read_exception(label.name, text)

    def finish(self) -> Iterator[bytes]:
        self._messages.finish()
        yield from self._inner.finish()


def write_frame(label: Label, payload: bytes) -> bytes:
    """Return a message as an object with one member."""
    if label.kind == ERROR:
        return _encode({"error": {"code": label.name, "message": label.text}})
    return b"{%b:%b}" % (_write_name(label.name), payload or b"null")


def _open(message: bytes) -> tuple[Label, bytes]:
    """Return the label and the payload of a whole message. Raises StreamBroken."""
    end = len(message) - CRC_BYTES
    if crc32(message[:end]) != _read_crc(message, end)[0]:
        raise _damaged()
    payload_at = PRELUDE_BYTES + _read_prelude(message)[1]
    return _read_label(message[PRELUDE_BYTES:payload_at]), message[payload_at:end]


@lru_cache(maxsize=128)
def _read_label(headers: bytes) -> Label:
    """Return what headers say. Nearly all messages of a stream have the same. Raises
    StreamBroken."""
    found = _read_headers(headers)
    kind = found.get(":message-type", "")
    name = found.get(_NAMED_BY.get(kind, ""), "")
    if not name:
        raise StreamBroken("The provider sent an event without a type.")
    return Label(kind, name, found.get(":error-message", ""))


def _read_headers(data: bytes) -> Mapping[str, str]:
    """Return the headers that are text. Raises StreamBroken."""
    found: dict[str, str] = {}
    place = 0
    try:
        while place < len(data):
            value_at = place + 2 + data[place]
            name, kind = data[place + 1 : value_at - 1], data[value_at - 1]
            if kind in (_BYTES, _STRING):
                size = _read_length(data, value_at)[0]
                value_at += 2
            else:
                size = _SIZES[kind]
            place = value_at + size
            if kind == _STRING:
                found[name.decode()] = data[value_at:place].decode()
    except (LookupError, struct.error, UnicodeDecodeError):
        raise _damaged() from None
    if place != len(data):
        raise _damaged()
    return found


@lru_cache(maxsize=128)
def _write_name(name: str) -> bytes:
    return _encode(name)


def _damaged() -> StreamBroken:
    return StreamBroken("The provider's stream is damaged.")
