"""Server-sent events from bytes (WHATWG HTML, section 9.2), as far as providers use them.

Lines end with CR, LF or CRLF and nothing else: a decoder that also splits on U+2028, as text
line iterators do, tears JSON apart.
"""

from __future__ import annotations

from gateway.core.errors import StreamBroken

MAX_EVENT_BYTES = 1024 * 1024


class SseDecoder:
    """Carries what one stream needs remembered between two reads."""

    __slots__ = ("_buffer", "_data", "_data_bytes", "_seen_bom")

    def __init__(self) -> None:
        self._buffer = b""
        self._data: list[bytes] = []
        self._data_bytes = 0
        self._seen_bom = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the data of every event that this chunk completes. Comments and ids vanish.

        Raises StreamBroken when one event grows beyond MAX_EVENT_BYTES.
        """
        # Most providers send whole events of one line, each by itself.
        if (
            chunk[:6] == b"data: "
            and chunk[-2:] == b"\n\n"
            and not self._buffer
            and not self._data
            and chunk.count(b"\n") == 2
            and b"\r" not in chunk
            and len(chunk) <= MAX_EVENT_BYTES
        ):
            self._seen_bom = True
            return [chunk[6:-2]]
        if not self._seen_bom:
            if len(self._buffer) + len(chunk) < 3 and b"\xef\xbb\xbf".startswith(
                self._buffer + chunk
            ):
                self._buffer += chunk
                return []
            self._seen_bom = True
            chunk = (self._buffer + chunk).removeprefix(b"\xef\xbb\xbf")
            self._buffer = b""
        pending = self._buffer + chunk if self._buffer else chunk
        if b"\r" in pending:
            pending, held = self._unify_line_ends(pending)
        else:
            held = b""
        *lines, rest = pending.split(b"\n")
        self._buffer = rest + held
        if len(self._buffer) > MAX_EVENT_BYTES:
            raise StreamBroken("The provider sent an event that is too large.")
        return self._read_lines(lines)

    def _unify_line_ends(self, pending: bytes) -> tuple[bytes, bytes]:
        """Turn CRLF and CR into LF; a CR at the very end may be half of a CRLF and is held."""
        held = b"\r" if pending.endswith(b"\r") else b""
        body = pending[: len(pending) - len(held)]
        return body.replace(b"\r\n", b"\n").replace(b"\r", b"\n"), held

    def _read_lines(self, lines: list[bytes]) -> list[bytes]:
        events: list[bytes] = []
        for line in lines:
            if line.startswith(b"data:"):
                data = line[6:] if line[5:6] == b" " else line[5:]
                self._add(data)
            elif line == b"data":
                self._add(b"")
            elif not line and self._data:
                events.append(self._data[0] if len(self._data) == 1 else b"\n".join(self._data))
                self._data = []
                self._data_bytes = 0
        return events

    def _add(self, data: bytes) -> None:
        # With its line end: lines without data are not free either.
        self._data_bytes += len(data) + 1
        if self._data_bytes > MAX_EVENT_BYTES:
            raise StreamBroken("The provider sent an event that is too large.")
        self._data.append(data)

    def finish(self) -> list[bytes]:
        """Return the event left open when the stream ended without a last blank line, if any.

        The standard drops it; providers that forget the blank line after [DONE] exist, and
        an event that is whole JSON is not worth losing.
        """
        rest, self._buffer = self._buffer, b""
        if not rest and not self._data:
            return []
        return self._read_lines([rest.rstrip(b"\r"), b""])
