"""A server that answers every request with a flood: as a provider, or where files are fetched.

`python -m tests.faults.flood.hostile_server` prints {"port": …}. The first part of the path names
the flood: `/comments/v1/chat/completions`, `/interims/anything.txt`. It runs at the lowest
priority: the caller whose calls are timed shares its core, and must not wait for it.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

import uvloop

MB = 1_000_000
STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
EMPTY_DELTA = (
    b'data: {"id":"x","object":"chat.completion.chunk","choices":[{"index":0,"delta":{}}]}\n\n'
)


async def comments() -> AsyncIterator[bytes]:
    """A stream of comments and nothing else."""
    yield STREAM
    while True:
        yield b": nothing\n\n" * 5_000


async def empty_deltas() -> AsyncIterator[bytes]:
    """A stream of chunks that say nothing."""
    yield STREAM
    while True:
        yield EMPTY_DELTA * 500


async def slow_comments() -> AsyncIterator[bytes]:
    """A comment now and then, and nothing else."""
    yield STREAM
    while True:
        yield b": processing\n\n"
        await asyncio.sleep(0.1)


async def slow_deltas() -> AsyncIterator[bytes]:
    """A chunk that says nothing now and then."""
    yield STREAM
    while True:
        yield EMPTY_DELTA
        await asyncio.sleep(0.1)


async def interims() -> AsyncIterator[bytes]:
    """Interim answers without end."""
    while True:
        yield b"HTTP/1.1 102 Processing\r\n\r\n" * 2_000


async def one_byte_chunks() -> AsyncIterator[bytes]:
    """An answer in chunks of one byte."""
    yield b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n"
    while True:
        yield b"1\r\n \r\n" * 5_000


async def endless_head() -> AsyncIterator[bytes]:
    """A head without end."""
    yield b"HTTP/1.1 200 OK\r\n"
    while True:
        yield b"x-more: " + b"y" * 1_000 + b"\r\n"


async def large_event() -> AsyncIterator[bytes]:
    """One event of a stream, without end."""
    yield STREAM + b"data: {"
    while True:
        yield b" " * 65_536


async def gzip_bomb() -> AsyncIterator[bytes]:
    """A gigabyte of spaces, compressed a thousand times, in a body of its length."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    body = b"".join(packer.compress(b" " * MB) for _ in range(200)) + packer.flush()
    yield (
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\n"
        b"content-length: %d\r\nconnection: close\r\n\r\n" % len(body)
    ) + body


async def large_answer() -> AsyncIterator[bytes]:
    """A body without end."""
    yield b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n"
    while True:
        yield b" " * 65_536


FLOODS: dict[str, Callable[[], AsyncIterator[bytes]]] = {
    flood.__name__: flood
    for flood in (
        *(comments, empty_deltas, interims, one_byte_chunks),
        *(endless_head, large_event, gzip_bomb, large_answer),
    )
}
# No floods, but no more of an answer either.
DRIPS: dict[str, Callable[[], AsyncIterator[bytes]]] = {
    drip.__name__: drip for drip in (slow_comments, slow_deltas)
}


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        head = await reader.readuntil(b"\r\n\r\n")
        name = head.split(b" ")[1].split(b"/")[1].decode()
        async for piece in (FLOODS | DRIPS)[name]():
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)
    writer.close()


async def main() -> None:
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    sys.stdout.write(json.dumps({"port": server.sockets[0].getsockname()[1]}) + "\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    os.nice(19)
    uvloop.run(main())
