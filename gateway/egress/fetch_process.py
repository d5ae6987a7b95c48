"""Fetches in a process of their own (gateway.egress.fetch_worker), for all calls of a process.

It is started when something is first wanted. One that gives no answer in time is killed, and the
next fetch gets a fresh one.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import subprocess
from collections.abc import Sequence
from itertools import count

import msgspec

from gateway.core.child_process import read_frame, start_child, write_frame
from gateway.core.egress import NotFetched
from gateway.egress.fetch import FAILED
from gateway.egress.orders import Fetched, McpAnswer, McpOrder, Order, Outcome, Wish
from gateway.outbound.permitted_addresses import Network

logger = logging.getLogger(__name__)

WORKER = "gateway.egress.fetch_worker"
# It keeps the time of a fetch itself; this long after that it is taken for dead.
GRACE_S = 10.0
_read_outcome = msgspec.msgpack.Decoder(Outcome).decode


class FetchProcess:
    """Fetches elsewhere. For one event loop.

    allowed: networks that may be connected to although they are not public, at any port.
    """

    def __init__(self, allowed: Sequence[Network] = ()) -> None:
        self._allowed = allowed
        self._link: Link | None = None
        self._starting = asyncio.Lock()

    async def fetch(self, order: Order) -> Fetched:
        """Return what is there. Raises NotFetched, which tells nothing of what is where."""
        outcome = await self._ask(Wish(0, order), order.limit_s)
        if outcome.fetched is None:
            raise NotFetched(outcome.refusal)
        return outcome.fetched

    async def ask(self, question: McpOrder) -> McpAnswer:
        """Return what an MCP server answers. Raises NotFetched."""
        outcome = await self._ask(Wish(0, question=question), question.limit_s)
        if outcome.answer is None:
            raise NotFetched(outcome.refusal)
        return outcome.answer

    async def _ask(self, wish: Wish, limit_s: float) -> Outcome:
        """Raises NotFetched where there is no process to ask."""
        try:
            link = await self._open()
            return await link.ask(wish, limit_s)
        except OSError as error:
            logger.error("The fetching process did not answer: %r", error)
            raise NotFetched(FAILED) from None

    async def aclose(self) -> None:
        if self._link is not None:
            self._link.end()

    async def _open(self) -> Link:
        async with self._starting:
            if self._link is None or self._link.has_ended:
                networks = [str(network) for network in self._allowed]
                # Starting a process takes a moment in which the loop would stand still.
                process, ours = await asyncio.to_thread(start, networks)
                reader, writer = await asyncio.open_unix_connection(sock=ours)
                self._link = Link(process, reader, writer)
            return self._link


class Link:
    """The process, and what it has been asked and has not answered."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self.has_ended = False
        self._process = process
        self._writer = writer
        self._numbers = count(1)
        self._asked: dict[int, asyncio.Future[Outcome]] = {}
        self._reading = asyncio.ensure_future(self._read(reader))

    async def ask(self, wish: Wish, limit_s: float) -> Outcome:
        """Raises ConnectionError when the process ends before it has answered, TimeoutError when
        it is taken for dead and ended: both are OSErrors."""
        if self.has_ended:
            raise ConnectionResetError("it has ended")
        number = next(self._numbers)
        answer: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._asked[number] = answer
        wish.number = number
        self._writer.write(write_frame(wish))
        try:
            async with asyncio.timeout(limit_s + GRACE_S):
                return await answer
        except TimeoutError:
            self.end()
            raise
        finally:
            del self._asked[number]
            if answer.cancelled() and not self.has_ended:
                self._writer.write(write_frame(Wish(number)))

    def end(self) -> None:
        """Kill the process; whoever waits for an answer gets none."""
        if not self.has_ended:
            self._reading.cancel()
            self._finish()

    async def _read(self, reader: asyncio.StreamReader) -> None:
        try:
            while True:
                outcome = _read_outcome(await read_frame(reader))
                answer = self._asked.get(outcome.number)
                if answer is not None and not answer.done():
                    answer.set_result(outcome)
        except (EOFError, ConnectionError, msgspec.MsgspecError):
            self._finish()

    def _finish(self) -> None:
        self.has_ended = True
        self._writer.close()
        self._process.kill()
        for answer in self._asked.values():
            if not answer.done():
                answer.set_exception(ConnectionResetError("it ended"))
        # Killed, it is gone in a moment; waiting for that is not for the loop.
        asyncio.get_running_loop().run_in_executor(None, self._process.wait)


def start(networks: Sequence[str]) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """Start the process and return it with our end of the socket between us. Raises OSError."""
    return start_child(WORKER, networks)
