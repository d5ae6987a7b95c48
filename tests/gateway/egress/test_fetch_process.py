"""Fetching in a process of its own: what a hostile server sends stops nobody else."""

from __future__ import annotations

import asyncio
import gzip
import os
import signal
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress

import pytest

from gateway.core.egress import NotFetched
from gateway.egress import fetch_process
from gateway.egress.fetch import FAILED
from gateway.egress.fetch_process import FetchProcess
from gateway.egress.orders import Order
from gateway.outbound.permitted_addresses import read_networks
from tests.support.file_server import serving_files

MB = 2**20
OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"transfer-encoding: chunked\r\n\r\n"
# So long at most a server goes on for one of these tests.
MOST_BYTES = 200 * MB
Feed = Callable[[], Iterator[bytes]]


@asynccontextmanager
async def fetching() -> AsyncIterator[FetchProcess]:
    process = FetchProcess(read_networks(["127.0.0.1/32"]))
    try:
        yield process
    finally:
        await process.aclose()


@contextmanager
def sending(feed: Feed) -> Iterator[str]:
    """Run a server that answers every request with these bytes, as fast as they are taken."""

    def serve(listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                link, _ = listener.accept()
                threading.Thread(target=answer, args=(link,), daemon=True).start()

    def answer(link: socket.socket) -> None:
        with link, suppress(OSError):
            link.recv(65_536)
            sent = 0
            for piece in feed():
                link.sendall(piece)
                sent += len(piece)
                if sent > MOST_BYTES:
                    return

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/file"
        listener.shutdown(socket.SHUT_RDWR)
    thread.join()


def forever(first: bytes, again: bytes) -> Feed:
    def feed() -> Iterator[bytes]:
        yield first
        while True:
            yield again

    return feed


BOMB = gzip.compress(bytes(20 * MB))
HOSTILE: dict[str, tuple[Feed, str]] = {
    "interim answers": (forever(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 2_000), FAILED),
    "interim answers with fields": (
        forever(b"", b"HTTP/1.1 103 Hints\r\nlink: </a>\r\n\r\n" * 999),
        FAILED,
    ),
    "one-byte chunks": (forever(CHUNKED, b"1\r\nx\r\n" * 10_000), FAILED),
    "long chunk extensions": (forever(CHUNKED, b"1;" + b"e" * 9_000 + b"\r\nx\r\n"), FAILED),
    "a field of 100 KB": (forever(OK, b"a: " + b"b" * 100_000 + b"\r\n"), FAILED),
    "ten thousand fields": (forever(OK, b"a: b\r\n" * 10_000), FAILED),
    "many short fields": (forever(OK + b"a:\r\n" * 300 + b"\r\n", b"x" * MB), FAILED),
    "an endless line": (forever(b"HTTP/1.1 200 ", b"O" * MB), FAILED),
    "trailers": (forever(CHUNKED + b"1\r\nx\r\n0\r\n", b"a: b\r\n" * 10_000), FAILED),
    "a gzip bomb": (
        forever(OK + b"content-encoding: gzip\r\n\r\n", BOMB),
        FAILED,
    ),
    "no end": (forever(OK + b"\r\n", b"x" * MB), "The response is larger than 20 MB."),
    "a length too much": (
        forever(OK + b"content-length: 99999999999999999999\r\n\r\n", b"x" * MB),
        "The response is larger than 20 MB.",
    ),
    "a switch of protocols": (
        forever(b"HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\n\r\n", b"x" * MB),
        FAILED,
    ),
    "another protocol": (forever(b"SSH-2.0-x\r\n", b"x" * MB), FAILED),
}


async def refusal(process: FetchProcess, url: str) -> str:
    with pytest.raises(NotFetched) as caught:
        await process.fetch(Order(url=url, owner="a"))
    return caught.value.message


@pytest.mark.parametrize(("feed", "told"), HOSTILE.values(), ids=HOSTILE)
async def test_what_a_server_floods_us_with_is_cut(feed: Feed, told: str) -> None:
    async with fetching() as process:
        with sending(feed) as url:
            assert await refusal(process, url) == told
        # Whoever comes next gets what is there.
        with serving_files(lambda path: (200, {}, b"hello")) as server:
            found = await process.fetch(Order(url=server.url("/a"), owner="a"))
            assert (found.content, found.name) == (b"hello", "a")


async def test_a_file_comes_whole_from_the_process() -> None:
    content = os.urandom(20 * MB)
    with serving_files(lambda path: (200, {}, content)) as server:
        async with fetching() as process:
            urls = [server.url(f"/{number}") for number in range(3)]
            found = await asyncio.gather(
                *(process.fetch(Order(url=url, owner="a")) for url in urls)
            )

    assert [one.content == content for one in found] == [True] * 3
    assert [one.name for one in found] == ["0", "1", "2"]


async def test_a_process_that_was_killed_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []
    real = fetch_process.start

    def start(networks: list[str]) -> object:
        process, link = real(networks)
        started.append(process.pid)
        return process, link

    monkeypatch.setattr(fetch_process, "start", start)
    asked, going_on = threading.Event(), threading.Event()

    def serve(path: str) -> tuple[int, dict[str, str], bytes]:
        asked.set()
        if path == "/slow":
            going_on.wait(60)
        return 200, {}, b"hello"

    with serving_files(serve) as server:
        async with fetching() as process:
            waiting = asyncio.ensure_future(refusal(process, server.url("/slow")))
            await asyncio.to_thread(asked.wait, 60)
            os.kill(started[0], signal.SIGKILL)

            assert await waiting == FAILED
            again = await process.fetch(Order(url=server.url("/a"), owner="a"))
            assert again.content == b"hello"
            going_on.set()
    assert len(set(started)) == 2


async def test_whoever_leaves_ends_the_fetch() -> None:
    closed = threading.Event()

    def drip() -> Iterator[bytes]:
        try:
            while True:
                threading.Event().wait(0.01)
                yield b"x"
        finally:
            closed.set()

    asked = threading.Event()

    def serve(path: str) -> tuple[int, dict[str, str], Iterator[bytes]]:
        asked.set()
        return 200, {"connection": "close"}, drip()

    with serving_files(serve) as server:
        async with fetching() as process:
            leaving = asyncio.ensure_future(process.fetch(Order(url=server.url(), owner="a")))
            await asyncio.to_thread(asked.wait, 60)
            leaving.cancel()
            assert await asyncio.to_thread(closed.wait, 60)
