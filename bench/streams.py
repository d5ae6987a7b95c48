"""Many streams at once, as people who watch an answer being written.

The upstream writes the moment of writing into each token ("@<monotonic nanoseconds> "), and
both programs read the same clock: so each chunk says how long it was on its way.
"""

from __future__ import annotations

import asyncio
import re
import time
from array import array
from functools import partial
from typing import cast

import httptools

OPEN_S = 15
STAMP = re.compile(rb"@(\d{6,}) ")


class Watch:
    """What all streams of one run have shown. Delays are nanoseconds, only while counting."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.all_open = asyncio.Event()
        self.is_counting = False
        self.delays_ns = array("q")
        self.chunks = 0
        self.open_streams = 0
        self.ended_streams = 0
        self.errors: list[str] = []


class Viewer(asyncio.Protocol):
    """One stream, from its request to its last byte or until it is closed."""

    def __init__(self, request: bytes, watch: Watch) -> None:
        self._request = request
        self._watch = watch
        self._parser = httptools.HttpResponseParser(self)
        self._is_open = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.write(self._request)

    def connection_lost(self, exc: Exception | None) -> None:
        if exc is not None:
            self._watch.errors.append(repr(exc))

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_headers_complete(self) -> None:
        if self._parser.get_status_code() != 200:
            self._watch.errors.append(f"status {self._parser.get_status_code()}")

    def on_body(self, data: bytes) -> None:
        watch = self._watch
        if not self._is_open:
            self._is_open = True
            watch.open_streams += 1
            if watch.open_streams == watch.count:
                watch.all_open.set()
        if not watch.is_counting:
            return
        now_ns = time.monotonic_ns()
        for stamp in STAMP.findall(data):
            watch.chunks += 1
            watch.delays_ns.append(now_ns - int(stamp))

    def on_message_complete(self) -> None:
        self._watch.ended_streams += 1
        self.transport.close()


async def open_streams(port: int, request: bytes, watch: Watch, *, over_s: float) -> list[Viewer]:
    """Open the streams evenly over `over_s` seconds; return when each has had its first byte."""
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    viewers: list[Viewer] = []
    for number in range(watch.count):
        make = partial(Viewer, request, watch)
        _, viewer = await loop.create_connection(make, "127.0.0.1", port)
        viewers.append(viewer)
        due_s = began_s + over_s * (number + 1) / watch.count
        await asyncio.sleep(max(0.0, due_s - loop.time()))
    try:
        await asyncio.wait_for(watch.all_open.wait(), OPEN_S)
    except TimeoutError:
        missing = watch.count - watch.open_streams
        watch.errors.append(f"{missing} of {watch.count} streams never began")
    return viewers


async def close_streams(viewers: list[Viewer]) -> None:
    """Hang up on all of them, and give the other side a moment to notice."""
    for viewer in viewers:
        viewer.transport.abort()
    await asyncio.sleep(0.5)
