"""Forms with files in them, multipart/form-data, read as they arrive.

gateway.core.forms reads those that came whole. As strict: one pass, nothing before the first part
or behind the last.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto

from gateway.core.forms import CRLF, MAX_HEAD_BYTES, MAX_PARTS, FormPart, malformed, read_part

END = b"--"


class _State(Enum):
    START = auto()
    BEHIND_BOUNDARY = auto()
    HEAD = auto()
    CONTENT = auto()
    OVER = auto()


class FormStream:
    """Takes a form apart.

    `feed` yields a FormPart without content where a part begins, then pieces of its content, then
    None where it ends.
    """

    def __init__(self, boundary: bytes) -> None:
        self._delimiter = b"--" + boundary
        self._separator = CRLF + self._delimiter
        self._buffer = bytearray()
        self._state = _State.START
        self._parts = 0

    def feed(self, data: bytes) -> Iterator[FormPart | bytes | None]:
        """Raises RequestError for what is no form."""
        self._buffer += data
        while True:
            if self._state is _State.CONTENT:
                end = self._buffer.find(self._separator)
                size = end if end >= 0 else len(self._buffer) - len(self._separator) + 1
                if size > 0:
                    yield self._take(size)
                if end < 0:
                    return
                self._take(len(self._separator))
                self._state = _State.BEHIND_BOUNDARY
                yield None
            elif self._state is _State.HEAD:
                part = self._read_head()
                if part is None:
                    return
                yield part
            elif not self._go_on():
                return

    def finish(self) -> None:
        """Raise RequestError unless the form has come to its end."""
        if self._state is not _State.OVER or self._buffer not in (b"", CRLF):
            raise malformed("it ends within a part")

    def _go_on(self) -> bool:
        """Take what stands between parts. Returns False where more is needed to tell."""
        buffer = self._buffer
        if self._state is _State.OVER:
            if not CRLF.startswith(buffer):
                raise malformed("something follows its end")
            return False
        wanted = len(self._delimiter) if self._state is _State.START else len(END)
        if self._state is _State.START and not self._delimiter.startswith(buffer[:wanted]):
            raise malformed("it does not begin with its boundary")
        if len(buffer) < wanted:
            return False
        found = self._take(wanted)
        if self._state is _State.START:
            self._state = _State.BEHIND_BOUNDARY
        elif found == END:
            self._state = _State.OVER
        elif found == CRLF:
            self._state = _State.HEAD
        else:
            raise malformed("a part has no header, or one that is too long")
        return True

    def _read_head(self) -> FormPart | None:
        """Return the part that begins; None where more is needed."""
        end = self._buffer.find(CRLF + CRLF, 0, MAX_HEAD_BYTES)
        if end < 0:
            if len(self._buffer) >= MAX_HEAD_BYTES:
                raise malformed("a part has no header, or one that is too long")
            return None
        if self._parts == MAX_PARTS:
            raise malformed(f"it has more than {MAX_PARTS} parts")
        self._parts += 1
        part = read_part(self._take(end), b"")
        self._take(len(CRLF + CRLF))
        self._state = _State.CONTENT
        return part

    def _take(self, size: int) -> bytes:
        taken = bytes(self._buffer[:size])
        del self._buffer[:size]
        return taken
