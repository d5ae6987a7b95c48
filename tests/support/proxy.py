"""An HTTP proxy in a thread: CONNECT, and requests with a whole URL."""

from __future__ import annotations

import asyncio
import base64
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit


class ProxyServer:
    """credential: name:password that it wants; empty for nobody's. seen: the first line of each
    request, and its Proxy-Authorization."""

    def __init__(self, credential: str = "", *, echoes: bool = False) -> None:
        self.url = ""
        self.seen: list[tuple[str, str]] = []
        self._echoes = echoes
        self._writers: list[asyncio.StreamWriter] = []
        pair = base64.b64encode(credential.encode()).decode()
        self._wanted = f"Basic {pair}" if credential else ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        ended = (OSError, asyncio.IncompleteReadError, RuntimeError, asyncio.CancelledError)
        with suppress(*ended):
            await self._serve(reader, writer)
        writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        line, *fields = head.split("\r\n")
        shown = dict(field.lower().split(": ", 1) for field in fields if field)
        raw = next((f for f in fields if f.lower().startswith("proxy-authorization")), "")
        credential = raw.partition(": ")[2]
        self.seen.append((line, credential))
        if self._echoes:
            body = f'{{"error": {{"message": "no: {credential}"}}}}'.encode()
            writer.write(b"HTTP/1.1 400 No\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))
            return await writer.drain()
        if credential != self._wanted:
            writer.write(b"HTTP/1.1 407 No\r\ncontent-length: 0\r\n\r\n")
            return await writer.drain()
        method, target, _ = line.split(" ")
        parts = urlsplit(f"//{target}" if method == "CONNECT" else target)
        far_reader, far_writer = await asyncio.open_connection(parts.hostname, parts.port)
        self._writers.append(far_writer)
        if method == "CONNECT":
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            body = await reader.readexactly(int(shown.get("content-length", "0")))
            path = parts.path + (f"?{parts.query}" if parts.query else "")
            own = [f for f in fields if f and not f.lower().startswith("proxy-")]
            far_writer.write("\r\n".join([f"{method} {path} HTTP/1.1", *own, "", ""]).encode())
            far_writer.write(body)
        await asyncio.gather(pump(reader, far_writer), pump(far_reader, writer))
        return None

    async def end(self) -> None:
        for writer in self._writers:
            writer.transport.abort()
        await asyncio.sleep(0.01)


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError, RuntimeError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    writer.close()


@contextmanager
def running_proxy(credential: str = "", *, echoes: bool = False) -> Iterator[ProxyServer]:
    proxy = ProxyServer(credential, echoes=echoes)
    loop = asyncio.new_event_loop()
    ready = threading.Event()

    async def start() -> None:
        server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
        proxy.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        ready.set()
        await stopped.wait()
        server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await proxy.end()

    stopped = asyncio.Event()
    thread = threading.Thread(target=lambda: loop.run_until_complete(start()), daemon=True)
    thread.start()
    ready.wait()
    try:
        yield proxy
    finally:
        loop.call_soon_threadsafe(stopped.set)
        thread.join()
        loop.close()
