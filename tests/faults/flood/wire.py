"""One HTTP/1.1 connection of a caller that keeps to no rules: raw bytes out, status in."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress

STATUS = re.compile(rb"HTTP/1\.1 (\d{3})")
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
PATIENCE_S = 15.0
REFUSED = "connection refused"
CLOSED = "closed without an answer"
SILENT = "no answer"


class Connection:
    """Opened on first use, and again after it was closed. `ended` counts nothing here."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def open(self) -> asyncio.StreamWriter:
        """Raises OSError when nobody listens."""
        if self._writer is None or self._writer.is_closing():
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        return self._writer

    async def send(self, data: bytes) -> bool:
        """Write; False when the other side has answered or closed, and no more is wanted."""
        writer = await self.open()
        assert self._reader is not None
        try:
            writer.write(data)
            await asyncio.wait_for(writer.drain(), PATIENCE_S)
        except (OSError, TimeoutError):
            return False
        return not (self._reader.at_eof() or self._reader._buffer)  # type: ignore[attr-defined]

    async def answer(self, patience_s: float = PATIENCE_S) -> str:
        """Return the status of the answer, or one of the words above. Closes unless it is whole."""
        assert self._reader is not None
        try:
            head = await asyncio.wait_for(self._reader.readuntil(b"\r\n\r\n"), patience_s)
            length = LENGTH.search(head)
            if length is None:
                self.close()
            else:
                await asyncio.wait_for(self._reader.readexactly(int(length[1])), patience_s)
        except TimeoutError:
            self.close()
            return SILENT
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            self.close()
            return CLOSED
        status = STATUS.match(head)
        if b"connection: close" in head.lower():
            self.close()
        return CLOSED if status is None else status[1].decode()

    def close(self) -> None:
        if self._writer is not None:
            with suppress(OSError):
                self._writer.close()
        self._writer = self._reader = None


def request(
    method: str, path: str, body: bytes | None = None, *, length: int | None = None, **headers: str
) -> bytes:
    """Return a request. length: what it declares, if that is not the body's own."""
    lines = [f"{method} {path} HTTP/1.1", "host: 127.0.0.1"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    if body is not None or length is not None:
        lines.append(f"content-length: {len(body or b'') if length is None else length}")
    return "\r\n".join([*lines, "", ""]).encode() + (body or b"")
