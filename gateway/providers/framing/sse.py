"""Server-sent events from bytes (WHATWG HTML, section 9.2), as far as providers use them.

Lines end with CR, LF or CRLF and nothing else: a decoder that also splits on U+2028, as text
line iterators do, tears JSON apart.
"""

from __future__ import annotations

from gateway.core.errors import StreamBroken
from gateway.core.octets import CARRIAGE_RETURN, LINE_FEED

MAX_EVENT_BYTES = 1024 * 1024


class SseDecoder:
    """Carries what one stream needs remembered between two reads."""

    __slots__ = ("_data", "_data_bytes", "_open", "_open_bytes", "_seen_bom")

    def __init__(self) -> None:
        # Pieces of a line whose end has not come: put together once, however many they are.
        self._open: list[bytes] = []
        self._open_bytes = 0
        self._data: list[bytes] = []
        self._data_bytes = 0
        self._seen_bom = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the data of every event that this chunk completes. Comments and ids vanish.

        Raises StreamBroken when one event grows beyond MAX_EVENT_BYTES.
        """
        # Most providers send whole events of one line; where every end of a line is one that the
        # events are cut at, there is nothing else.
        if (
            chunk[:6] == b"data: "
            and chunk[-2:] == b"\n\n"
            and not self._open
            and not self._data
            and len(chunk) <= MAX_EVENT_BYTES
            and CARRIAGE_RETURN not in chunk
        ):
            events = chunk[6:-2].split(b"\n\ndata: ")
            if chunk.count(b"\n") == 2 * len(events):
                self._seen_bom = True
                return events
        if not self._seen_bom:
            begun = b"".join((*self._open, chunk))
            if len(begun) < 3 and b"\xef\xbb\xbf".startswith(begun):
                self._open = [begun]
                return []
            self._seen_bom = True
            self._open, chunk = [], begun.removeprefix(b"\xef\xbb\xbf")
        has_return = CARRIAGE_RETURN in chunk or (bool(self._open) and self._open[-1][-1:] == b"\r")
        if LINE_FEED not in chunk and not has_return:
            self._keep(chunk)
            return []
        pending = b"".join((*self._open, chunk)) if self._open else chunk
        if has_return:
            pending, held = self._unify_line_ends(pending)
        else:
            held = b""
        *lines, rest = pending.split(b"\n")
        self._open, self._open_bytes = [], 0
        self._keep(rest + held)
        return self._read_lines(lines)

    def _keep(self, rest: bytes) -> None:
        if not rest:
            return
        self._open.append(rest)
        self._open_bytes += len(rest)
        if self._open_bytes > MAX_EVENT_BYTES:
            raise StreamBroken("The provider sent an event that is too large.")

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
        rest, self._open = b"".join(self._open), []
        if not rest and not self._data:
            return []
        return self._read_lines([rest.rstrip(b"\r"), b""])
