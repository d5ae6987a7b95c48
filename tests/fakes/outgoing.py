"""The body of one answer on its way out: framed, cut at any byte, compressed, broken off."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Iterator
from typing import Protocol

from tests.fakes.generation import BIG_MARK
from tests.fakes.script import NEVER, Script

BLOCK = b"x" * 65536
REASONS = {200: b"OK", 302: b"Found", 400: b"Bad Request", 404: b"Not Found", 429: b"Slow Down"}


class Link(Protocol):
    """The connection, as an answer needs it."""

    def write(self, data: bytes) -> None: ...
    async def drained(self) -> None: ...
    async def passed(self, gate: str) -> None: ...
    def reset(self) -> None: ...
    def close(self) -> None: ...


class BrokenOff(Exception):
    """The script ended the answer before its end; the connection is already gone."""


def head(status: int, headers: list[tuple[bytes, bytes]]) -> bytes:
    """Return the status line and header block."""
    reason = REASONS.get(status, b"Scripted")
    lines = b"".join(b"%b: %b\r\n" % pair for pair in headers)
    return b"HTTP/1.1 %d %b\r\n%b\r\n" % (status, reason, lines)


class Outgoing:
    """Writes one response. `open` first, then `send` as often as needed, then `finish`."""

    def __init__(self, link: Link, script: Script, *, keep_alive: bool) -> None:
        self._link = link
        self._script = script
        self._framing = script.framing
        self.extra_headers: list[tuple[bytes, bytes]] = []
        self._keep_alive = keep_alive and not script.close and script.framing != "eof"
        self._packer = zlib.compressobj(wbits=31) if script.gzip else None
        self._sent_bytes = 0
        faults = (
            (script.reset_at_byte, "reset"),
            (script.truncate_at_byte, "truncate"),
            (script.close_at_byte, "close"),
        )
        self._fault_at, self._fault = next((f for f in faults if f[0] != NEVER), (NEVER, ""))

    def open(self, status: int, content_type: str, *, length: int | None) -> None:
        """Write the head. `length` None is a body of unknown length."""
        script = self._script
        headers = [(b"content-type", (script.content_type or content_type).encode())]
        if self._packer is not None:
            headers.append((b"content-encoding", b"gzip"))
            length = None
        if not self._framing:
            self._framing = "chunked" if length is None else "length"
        if self._framing == "chunked":
            headers.append((b"transfer-encoding", b"chunked"))
        elif self._framing == "length":
            headers.append((b"content-length", b"%d" % (length or 0)))
        if not self._keep_alive:
            headers.append((b"connection", b"close"))
        headers += self.extra_headers
        for line in script.header:
            name, _, value = line.partition(":")
            headers.append((name.encode(), value.strip().encode()))
        if script.retry_after:
            headers.append((b"retry-after", script.retry_after.encode()))
        self._link.write(head(status, headers))

    async def send(self, data: bytes) -> None:
        """Write body bytes, waiting while the reader is behind. Raises BrokenOff."""
        for block in _unfolded(data, self._script.big_bytes):
            if self._packer is not None:
                packed = self._packer.compress(block) + self._packer.flush(zlib.Z_SYNC_FLUSH)
                await self._send_pieces(packed)
            else:
                await self._send_pieces(block)

    async def _send_pieces(self, block: bytes) -> None:
        for number, piece in enumerate(self._cut(block)):
            if number:
                await asyncio.sleep(self._script.gap_ms / 1000)
            if self._fault and self._sent_bytes + len(piece) >= self._fault_at:
                self._write(piece[: self._fault_at - self._sent_bytes])
                await self.break_off(self._fault)
            self._write(piece)
            await self._link.drained()

    def _cut(self, block: bytes) -> Iterator[bytes]:
        script = self._script
        start = self._sent_bytes
        if script.chunk_bytes:
            size = script.chunk_bytes
            yield from (block[i : i + size] for i in range(0, len(block), size))
        elif start < script.split_at < start + len(block):
            cut = script.split_at - start
            yield block[:cut]
            yield block[cut:]
        else:
            yield block

    def _flipped(self, piece: bytes) -> bytes:
        """Return the piece that comes next, one of its bits turned over if that is due."""
        place, bit = divmod(self._script.flip_bit, 8)
        place -= self._sent_bytes
        if self._script.flip_bit == NEVER or not 0 <= place < len(piece):
            return piece
        return piece[:place] + bytes([piece[place] ^ 1 << bit]) + piece[place + 1 :]

    def _write(self, piece: bytes) -> None:
        piece = self._flipped(piece)
        self._sent_bytes += len(piece)
        if not piece:
            return
        if self._framing == "chunked":
            piece = b"%x\r\n%b\r\n" % (len(piece), piece)
        self._link.write(piece)

    async def break_off(self, how: str) -> None:
        """Reset, truncate or close the connection now. Always raises BrokenOff."""
        if how == "reset":
            await asyncio.sleep(self._script.wait_ms / 1000)
            self._link.reset()
        elif how == "truncate" and self._framing == "chunked":
            self._end()
        else:
            self._link.close()
        raise BrokenOff

    async def finish(self) -> None:
        """End the body, and the connection where it does not outlive it."""
        if self._packer is not None:
            await self._send_pieces(self._packer.flush())
        self._end()

    def _end(self) -> None:
        if self._framing == "chunked":
            self._link.write(b"0\r\n\r\n")
        if not self._keep_alive:
            self._link.close()


def _unfolded(data: bytes, big_bytes: int) -> Iterator[bytes]:
    """Put the filler where its mark is, block by block."""
    start, mark, rest = data.partition(BIG_MARK.encode()) if big_bytes else (data, b"", b"")
    yield start
    if mark:
        for _ in range(big_bytes // len(BLOCK)):
            yield BLOCK
        yield BLOCK[: big_bytes % len(BLOCK)]
        yield rest
