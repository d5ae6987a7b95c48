"""What is read only to be thrown away: the rest of a request that has had its answer.

Reading on lets the caller see that answer, but costs the loop as much as any other byte. So all
connections together get a slice of it at a time; then they queue for the next slice.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Protocol

from uvicorn.protocols.http.flow_control import FlowControl

# 100 MB/s, and a slice holds the loop for less than a millisecond. A body of 50 MB, the longest
# that is taken anywhere, is read in half a second.
SLICE_BYTES = 1024 * 1024
SLICE_S = 0.01
# The loop hands over up to a quarter of a megabyte at a time, so these use up a slice.
READERS = 4


class Connection(Protocol):
    """A connection of uvicorn's."""

    loop: asyncio.AbstractEventLoop
    flow: FlowControl
    transport: asyncio.Transport


class Discarding:
    """For one event loop."""

    def __init__(self) -> None:
        self._left_bytes = SLICE_BYTES
        self._waiting: deque[Connection] = deque()
        self._is_timed = False

    def take(self, size_bytes: int, connection: Connection) -> None:
        """Count what has been read, and read no more of it for now when that was too much."""
        self._left_bytes -= size_bytes
        if self._left_bytes < 0:
            connection.flow.pause_reading()
            self._waiting.append(connection)
        if not self._is_timed:
            self._is_timed = True
            connection.loop.call_later(SLICE_S, self._begin_slice, connection.loop)

    def _begin_slice(self, loop: asyncio.AbstractEventLoop) -> None:
        self._left_bytes = SLICE_BYTES
        readers = 0
        while self._waiting and readers < READERS:
            connection = self._waiting.popleft()
            if not connection.transport.is_closing():
                connection.flow.resume_reading()
                readers += 1
        self._is_timed = bool(readers)
        if readers:
            loop.call_later(SLICE_S, self._begin_slice, loop)
