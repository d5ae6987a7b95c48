"""Gives up a provider that goes on sending, and next to no output.

A provider may send comments, empty pieces and the like, but no more than MAX_EMPTY_BYTES and
MAX_EMPTY_LINES of them: a line costs the event loop time however short it is.
"""

from __future__ import annotations

import time

from gateway.core.errors import StreamBroken
from gateway.core.events import AudioPiece, Delta, StreamEvent
from gateway.core.output import count_chars

MAX_EMPTY_BYTES = 2 * 1024 * 1024
# What may come with each piece of output, and with each character of it.
BYTES_PER_DELTA = 4096
BYTES_PER_CHAR = 8
# Longer pieces are weighed even if they have output in them.
MAX_PIECE = BYTES_PER_DELTA
# So many lines at once and so many a second.
MAX_EMPTY_LINES = 4_000
EMPTY_LINES_PER_S = 1_000


class EmptyOutput:
    """What one stream has sent without output. deltas: pieces with output since the last look.

    repeats_answer: each piece has all that was said before it, so that its size says nothing.
    """

    __slots__ = ("_at", "_bytes", "_lines", "_repeats_answer", "deltas")

    def __init__(self, *, repeats_answer: bool = False) -> None:
        self._repeats_answer = repeats_answer
        self.deltas = 0
        self._bytes = 0
        self._lines = self._at = 0.0

    def weigh(self, piece: bytes, events: list[StreamEvent]) -> StreamBroken | None:
        """Count a piece. Returns why its provider is given up, or None."""
        deltas, chars = self.deltas, 0
        for event in events:
            if isinstance(event, Delta) and (said := count_chars(event.fields)):
                if len(piece) <= MAX_PIECE:
                    self.deltas += 1  # it is paid for already
                    return None
                deltas += 1
                chars += said
            elif isinstance(event, AudioPiece):
                return None  # what it has is output and nothing else
        self.deltas = 0
        allowed = deltas * BYTES_PER_DELTA + chars * BYTES_PER_CHAR
        self._bytes = max(self._bytes + len(piece) - allowed, 0)
        if deltas and self._repeats_answer:
            self._bytes = 0
        self._count_lines(0 if deltas else piece.count(b"\n"))
        if self._bytes > MAX_EMPTY_BYTES:
            size = f"{MAX_EMPTY_BYTES // 2**20} MB"
            return StreamBroken(f"The provider sent more than {size} without output.")
        if self._lines > MAX_EMPTY_LINES:
            return StreamBroken(
                f"The provider sent more than {MAX_EMPTY_LINES} lines without output."
            )
        return None

    def _count_lines(self, lines: int) -> None:
        """Count lines without output; output forgets them all, and time some of them."""
        now = time.monotonic()
        idle_s, self._at = now - self._at, now
        if lines:
            self._lines = max(self._lines - idle_s * EMPTY_LINES_PER_S, 0.0) + lines
        else:
            self._lines = 0.0
