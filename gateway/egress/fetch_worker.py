"""The process that fetches for a server process: `python -m gateway.egress.fetch_worker`.

    python -m gateway.egress.fetch_worker [NETWORK…]        NETWORK: may be fetched from, too

Standard input is a socket to who started it (gateway.core.child_process). What it is asked is a
Wish, what it says an Outcome; it ends with the socket. It runs at a lower priority than who carries
calls, which what a server sends therefore never stops.
"""

from __future__ import annotations

import asyncio
import os
import resource
import socket
import sys
from collections.abc import Sequence

import msgspec

from gateway.core.child_process import read_frame, write_frame
from gateway.core.egress import NotFetched
from gateway.egress.fetch import Fetcher
from gateway.egress.orders import Outcome, Wish
from gateway.outbound.permitted_addresses import read_networks

# All files at once, their copies and the program. Beyond it a fetch fails, and no more than that.
MEMORY_BYTES = 3 * 1024**3


class Worker:
    def __init__(self, fetcher: Fetcher, writer: asyncio.StreamWriter) -> None:
        self._fetcher = fetcher
        self._writer = writer
        self._running: dict[int, asyncio.Task[None]] = {}

    async def serve(self, reader: asyncio.StreamReader) -> None:
        """Do what is asked until nobody is left to ask."""
        read_wish = msgspec.msgpack.Decoder(Wish).decode
        while True:
            try:
                wish = read_wish(await read_frame(reader))
            except (EOFError, ConnectionError):
                return
            if wish.order is not None or wish.question is not None:
                self._running[wish.number] = asyncio.ensure_future(self._run(wish))
            elif task := self._running.get(wish.number):
                task.cancel()

    async def _run(self, wish: Wish) -> None:
        outcome = Outcome(wish.number)
        try:
            if wish.order is not None:
                outcome.fetched = await self._fetcher.fetch(wish.order)
            elif wish.question is not None:
                outcome.answer = await self._fetcher.ask(wish.question)
        except NotFetched as error:
            outcome.refusal = error.message
        except MemoryError:
            outcome.refusal = "No memory is free for the response. Try again in a moment."
        finally:
            del self._running[wish.number]
        self._writer.write(write_frame(outcome))
        await self._writer.drain()


async def main(networks: Sequence[str]) -> None:
    reader, writer = await asyncio.open_unix_connection(sock=socket.socket(fileno=0))
    await Worker(Fetcher(read_networks(networks)), writer).serve(reader)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    asyncio.run(main(sys.argv[1:]))
    os._exit(0)  # a look-up that hangs in its thread is not waited for
