"""What is read only to be thrown away: the rest of a request that has had its answer.

Reading on lets the caller see that answer, but costs the loop as much as any other byte. So all
connections together get so much of it between two walks of the guard; then they wait.
"""

from __future__ import annotations

from typing import Any, Protocol

# At two walks a second 128 MB/s, some hundredths of the loop's time; a body of 50 MB fits into one.
DISCARD_BYTES = 64 * 1024 * 1024


class Connection(Protocol):
    """A connection of uvicorn's."""

    flow: Any
    transport: Any


class Discarding:
    """For one event loop."""

    def __init__(self) -> None:
        self._left_bytes = DISCARD_BYTES
        self._waiting: list[Connection] = []

    def take(self, size_bytes: int, connection: Connection) -> None:
        """Count what has been read, and read no more of it for now when that was too much."""
        self._left_bytes -= size_bytes
        if self._left_bytes < 0:
            connection.flow.pause_reading()
            self._waiting.append(connection)

    def begin_again(self) -> None:
        """Let everybody read on. Called by the guard at each walk."""
        self._left_bytes = DISCARD_BYTES
        waiting, self._waiting = self._waiting, []
        for connection in waiting:
            if not connection.transport.is_closing():
                connection.flow.resume_reading()
