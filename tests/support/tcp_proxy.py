"""A TCP proxy between a program and a server, that a test can stop or break.

It can also lose what a database server answers to COMMIT: the program then cannot know whether the
transaction has happened.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

CHUNK = 65_536
# A simple query, as psycopg sends it.
COMMIT = b"COMMIT\x00"


class TcpProxy:
    """Connections to `port` lead to a socket. Used from any thread."""

    def __init__(self, target: Path) -> None:
        self.port = 0
        # How many more answers to COMMIT are lost, and how many were.
        self.commits_to_lose = 0
        self.commits_lost = 0
        self._target = target
        self._loop = asyncio.new_event_loop()
        self._open = asyncio.Event()
        self._open.set()
        self._ended = asyncio.Event()
        self._writers: set[asyncio.StreamWriter] = set()

    def hold_back(self) -> None:
        """Forward nothing more, and say nothing: as a network does that loses every packet."""
        self._do(self._open.clear)

    def go_on(self) -> None:
        """Forward again, also what was held back."""
        self._do(self._open.set)

    def reset(self) -> None:
        """Reset all connections."""
        self._do(self._reset)

    def _do(self, action: Callable[[], object]) -> None:
        async def act() -> None:
            action()

        asyncio.run_coroutine_threadsafe(act(), self._loop).result(timeout=60)

    def _reset(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        far_writer = None
        try:
            await self._open.wait()
            far_reader, far_writer = await asyncio.open_unix_connection(str(self._target))
            link = _Link(self)
            await _first_of(
                self._pump(reader, far_writer, link.sent), self._pump(far_reader, writer, link.got)
            )
        except OSError:
            pass
        finally:
            self._writers.discard(writer)
            writer.transport.abort()
            if far_writer is not None:
                far_writer.transport.abort()

    async def _pump(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        look: Callable[[bytes], bool],
    ) -> None:
        """Forward until either side ends, or `look` refuses a piece."""
        with suppress(OSError):
            while (data := await reader.read(CHUNK)) and look(data):
                await self._open.wait()
                writer.write(data)
                await writer.drain()

    async def _run(self, ready: threading.Event) -> None:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        await self._ended.wait()
        server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    def run(self, ready: threading.Event) -> None:
        self._loop.run_until_complete(self._run(ready))
        self._loop.close()

    def end(self) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)


class _Link:
    """One connection: whether its program waits for the answer to a COMMIT that is to be lost."""

    def __init__(self, proxy: TcpProxy) -> None:
        self._proxy = proxy
        self._loses = False

    def sent(self, data: bytes) -> bool:
        if self._proxy.commits_to_lose and data.endswith(COMMIT):
            self._proxy.commits_to_lose -= 1
            self._loses = True
        return True

    def got(self, data: bytes) -> bool:
        if self._loses:
            self._proxy.commits_lost += 1
        return not self._loses


async def _first_of(*pumps: Coroutine[object, object, None]) -> None:
    """Return when one direction has ended; the other ends with it."""
    tasks = [asyncio.ensure_future(pump) for pump in pumps]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@contextmanager
def running_tcp_proxy(target: Path) -> Iterator[TcpProxy]:
    """Run a proxy to a Unix socket."""
    proxy = TcpProxy(target)
    ready = threading.Event()
    thread = threading.Thread(target=proxy.run, args=(ready,), daemon=True)
    thread.start()
    assert ready.wait(60)
    try:
        yield proxy
    finally:
        proxy.end()
        thread.join()
