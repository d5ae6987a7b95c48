"""A provider's answer as it arrives over one of our own connections (direct_connection)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Protocol

from gateway.providers.transports.base import IncompleteResponse
from gateway.providers.transports.loop_quotas import LoopQuotas

PIECE_BYTES = 16 * 1024
# A piece of this size counts towards what all answers together hand over in a pass of the loop.
LARGE_PIECE_BYTES = 4 * 1024
# More than this is not read from a socket while nobody takes what has arrived.
HIGH_WATER_BYTES = 64 * 1024
# The rest of an answer that nobody needs is read for so long, to keep the connection.
READ_REST_S = 0.25


class AskedConnection(Protocol):
    """What an answer needs of the connection that it comes over."""

    loop: asyncio.AbstractEventLoop
    quotas: LoopQuotas

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def release(self, response: DirectResponse, /) -> None: ...


class DirectResponse:
    """An answer that comes over a socket. status is 0 until its head is there."""

    broken_by: tuple[type[Exception], ...] = (IncompleteResponse,)

    __slots__ = (
        "_broken",
        "_connection",
        "_take",
        "_waiter",
        "chunks",
        "fields",
        "is_complete",
        "is_encoded",
        "is_paused",
        "size_bytes",
        "status",
    )

    def __init__(self, connection: AskedConnection) -> None:
        self.status = 0
        self.is_encoded = False
        self.is_complete = False
        self._connection = connection
        self.fields: list[tuple[bytes, bytes]] = []
        self.chunks: list[bytes] = []
        self.size_bytes = 0
        self.is_paused = False
        self._broken = ""
        self._take: Callable[[bytes], bool] | None = None
        self._waiter: asyncio.Future[None] | None = None

    @property
    def headers(self) -> Mapping[str, str]:
        """The header fields, names in lower case; of a name that comes twice the last."""
        fields = self.fields
        return {name.lower().decode("latin-1"): value.decode("latin-1") for name, value in fields}

    async def head(self) -> None:
        """Wait until the head has arrived. Raises IncompleteResponse."""
        while not self.status:
            if self._broken:
                raise IncompleteResponse(self._broken)
            await self._wait()

    async def read(self) -> bytes:
        """Return at most PIECE_BYTES of what has arrived of the body, waiting for some; empty at
        its end. Raises IncompleteResponse behind the last byte of an incomplete answer."""
        while not self.chunks:
            if self._is_at_end():
                return b""
            await self._wait()
        return self._take_piece()

    def take_whole(self) -> bytes | None:
        """Return the whole body where all of it is there, and short. None: it is to be read."""
        if not self.is_complete or self.size_bytes > PIECE_BYTES:
            return None
        chunks, self.chunks = self.chunks, []
        self.size_bytes = 0
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    async def forward(self, take: Callable[[bytes], bool]) -> bool:
        """Hand over each piece of the body as it arrives, until `take` says False; return whether
        it did: else this is the end. Raises as read does, and whatever `take` raises.

        A piece that nobody waits to be woken for costs half as much as one that is read.
        """
        while True:
            while self.chunks:
                if self.size_bytes < LARGE_PIECE_BYTES:
                    goes_on = take(self._take_piece())
                else:
                    pieces = self._connection.quotas.pieces
                    goes_on = await pieces.run(lambda: take(self._take_piece()))
                if not goes_on:
                    return True
            if self._is_at_end():
                return False
            self._take = take
            try:
                await self._wait()
                if self._is_refused():
                    return True
            finally:
                self._take = None

    def _is_refused(self) -> bool:
        """True when hand_over was told False: it then has nobody to hand to any more."""
        return self._take is None

    def _is_at_end(self) -> bool:
        if self._broken and not self.is_complete:
            raise IncompleteResponse(self._broken)
        return self.is_complete

    def _take_piece(self) -> bytes:
        chunks = self.chunks
        piece = chunks[0] if len(chunks) == 1 else b"".join(chunks)
        chunks.clear()
        if len(piece) > PIECE_BYTES:
            chunks.append(piece[PIECE_BYTES:])
            piece = piece[:PIECE_BYTES]
        self.size_bytes -= len(piece)
        if self.is_paused and self.size_bytes <= HIGH_WATER_BYTES:
            self.is_paused = False
            self._connection.quotas.reads.call(self._read_on)
        return piece

    def _read_on(self) -> None:
        if not self.is_paused:  # more may have arrived before its turn came
            self._connection.resume_reading()

    async def read_rest(self) -> None:
        """Read on to the end if that is near, so that the connection can be used again."""
        if self.is_complete:
            return
        try:
            async with asyncio.timeout(READ_REST_S):
                while await self.read():
                    pass
        except (TimeoutError, IncompleteResponse):
            pass

    def release(self) -> None:
        """Give the connection back when the whole answer has arrived, else cut it."""
        self._connection.release(self)

    def _wait(self) -> asyncio.Future[None]:
        """Return what is done as soon as something has happened."""
        self._waiter = waiter = self._connection.loop.create_future()
        return waiter

    # What the connection says

    def on_head(self, status: int) -> None:
        self.status = status
        self._wake()

    def on_much(self) -> None:
        """More has arrived than may lie here."""
        if not self.is_paused:
            self.is_paused = True
            self._connection.pause_reading()

    def hand_over(self) -> None:
        """Give a piece of what has arrived to who takes it, and the rest when the loop has been
        around; who does not want more is woken."""
        take, waiter = self._take, self._waiter
        if waiter is None or waiter.done():
            return
        if take is None:
            if self.chunks:
                self._wake()
            return
        size_bytes = self.size_bytes
        if size_bytes >= LARGE_PIECE_BYTES:
            self._connection.quotas.pieces.call(self._hand_piece)
        elif size_bytes:
            self._hand_piece()

    def _hand_piece(self) -> None:
        take, waiter = self._take, self._waiter
        if take is None or waiter is None or waiter.done() or not self.chunks:
            return
        try:
            if not take(self._take_piece()):
                self._take = None
                self._wake()
            elif self.chunks:
                self.hand_over()
        except BaseException as error:
            self._take = self._waiter = None
            waiter.set_exception(error)

    def on_end(self) -> None:
        self.is_complete = True
        self._wake()

    def on_break(self, reason: str) -> None:
        if not self.is_complete and not self._broken:
            self._broken = reason
            self._wake()

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)
