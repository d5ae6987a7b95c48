"""JSON lines: one JSON value a line (https://jsonlines.org). Empty lines are left out."""

from __future__ import annotations

from collections.abc import Iterator

from gateway.core.errors import StreamBroken

MAX_LINE_BYTES = 1024 * 1024


class JsonLines:
    """Carries the line whose end has not come."""

    __slots__ = ("_open", "_open_bytes")

    def __init__(self) -> None:
        # Put together once, however many pieces it comes in.
        self._open: list[bytes] = []
        self._open_bytes = 0

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the lines that this chunk completes. Raises StreamBroken after those before the one
        that is too large."""
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            self._keep(line)
            yield from self._take()
        self._keep(rest)

    def finish(self) -> Iterator[bytes]:
        """Yield the line that has no end."""
        yield from self._take()

    def _keep(self, piece: bytes) -> None:
        if not piece:
            return
        self._open.append(piece)
        self._open_bytes += len(piece)
        if self._open_bytes > MAX_LINE_BYTES:
            raise StreamBroken("The provider sent an event that is too large.")

    def _take(self) -> Iterator[bytes]:
        line, self._open, self._open_bytes = b"".join(self._open), [], 0
        if line := line.strip():
            yield line
