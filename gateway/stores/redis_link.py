"""The connection to Redis, kept up: made anew when it is lost, given up when it does not answer.

Nobody waits long for a Redis that is away: a command that has no answer within `wait_s` ends the
connection, and until there is another one nothing is asked. Used from one event loop.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

from gateway.admission.counter_protocols import ServerState
from gateway.core.redis_address import RedisAddress
from gateway.stores.redis_connection import (
    NO_REPLY,
    Command,
    Part,
    RedisConnection,
    RedisError,
    connect,
    pack,
)
from gateway.stores.redis_scripts import SCRIPTS, WAKE_CHANNEL, Script

log = logging.getLogger(__name__)

RETRY_S = 1.0
CONNECT_S = 1.0
# A command is given up when it was seen unanswered so often, half a `wait_s` apart: our own loop
# may have been late, and then the answer is here at the next look.
LOOKS = 3
# What is written to see whether Redis takes writes, and how long it stays.
PROBE_KEY, PROBE_MS = "tollhouse:probe", 1000


class Listener(Protocol):
    """Is told when Redis comes and goes."""

    def on_up(self) -> None: ...

    def on_down(self) -> None: ...

    def on_wake(self, slots_key: bytes) -> None: ...


class RedisLink:
    """start() before use, aclose() at the end."""

    def __init__(self, address: RedisAddress, wait_s: float, listener: Listener) -> None:
        self._address = address
        self._wait_s = wait_s
        self._listener = listener
        self._name = ""
        self._connection: RedisConnection | None = None
        self._maintenance: asyncio.Task[None] | None = None
        self._lost = asyncio.Event()
        self._loads = [pack("SCRIPT", "LOAD", script.text) for script in SCRIPTS]
        self._watching: asyncio.TimerHandle | None = None
        self._seen = (0, 0)
        self._loop: asyncio.AbstractEventLoop
        self.is_up = False
        self.state = ServerState(False, time.time(), 0, "")

    async def start(self, name: str) -> None:
        """Connect. name: of this process, under which it is woken. Returns when that has worked
        or failed; from then on the connection is kept up."""
        self._name = name
        self._loop = asyncio.get_running_loop()
        await self._try()
        self._maintenance = asyncio.ensure_future(self._maintain())

    async def aclose(self) -> None:
        """Close the connection, once everything is sent."""
        if self._maintenance is not None:
            self._maintenance.cancel()
            with suppress(asyncio.CancelledError):
                await self._maintenance
        connection = self._connection
        if connection is not None and self.is_up:
            with suppress(RedisError, TimeoutError):
                await self._ask(connection, self._wait_s, ("PING",))
        self.is_up = False
        if self._watching is not None:
            self._watching.cancel()
        if connection is not None:
            connection.close("the server is stopping")

    def run(self, command: Command, script: Script, keys: Sequence[str], *arguments: Part) -> None:
        """Run a script; only while is_up. The first argument of each is this process's name."""
        connection = self._connection
        if connection is None:
            command.on_failure(RedisError("there is no connection"))
            return
        connection.send(command, "EVALSHA", script.sha, len(keys), *keys, self._name, *arguments)
        if self._watching is None:
            self._watch_again(connection)

    def tell(self, script: Script, keys: Sequence[str], *arguments: Part) -> None:
        """Do the same and wait for no answer."""
        self.run(NO_REPLY, script, keys, *arguments)

    def fail(self, reason: str) -> None:
        """Redis is of no use now: leave it alone for a while."""
        connection, self._connection = self._connection, None
        was_up, self.is_up = self.is_up, False
        if was_up:
            self.state = ServerState(False, time.time(), self.state.outages + 1, reason)
            log.warning(
                "Redis at %s is away: %s. Each process now enforces its share of the limits on"
                " requests.",
                self._address,
                reason,
            )
        if connection is not None:
            connection.close(reason)
        if was_up:
            self._listener.on_down()
        self._lost.set()

    # Keeping it up

    async def _maintain(self) -> None:
        while True:
            await self._lost.wait()
            await asyncio.sleep(RETRY_S)
            await self._try()

    async def _try(self) -> None:
        self._lost.clear()
        connection: RedisConnection | None = None
        try:
            async with asyncio.timeout(CONNECT_S):
                connection = await connect(self._address, self._make)
            await self._greet(connection)
        except (OSError, TimeoutError, RedisError, ssl.SSLError) as error:
            if connection is not None:
                connection.close("it is of no use")
            self._on_no_connection(error)
            return
        except BaseException:
            if connection is not None:
                connection.close("the server is stopping")
            raise
        self._connection = connection
        self.is_up = True
        if self.state.trouble:
            away_s = time.time() - self.state.since
            log.warning("Redis at %s answers again after %.1f s.", self._address, away_s)
        self.state = ServerState(True, time.time(), self.state.outages, "")
        self._listener.on_up()

    async def _greet(self, connection: RedisConnection) -> None:
        """Say who we are, bring the scripts, and see that it all is answered promptly and that
        Redis takes writes."""
        address = self._address
        hello: tuple[Part, ...] = ("HELLO", 3)
        if address.password:
            hello = (*hello, "AUTH", address.username or "default", address.password)
        commands: list[tuple[Part, ...]] = [hello]
        if address.database:
            commands.append(("SELECT", address.database))
        commands.append(("CLIENT", "SETNAME", "tollhouse"))
        commands += [("SCRIPT", "LOAD", script.text) for script in SCRIPTS]
        await self._ask(connection, max(4 * self._wait_s, 0.2), *commands)
        # One that is full, or a replica, answers all of this and then refuses every script.
        await self._ask(connection, self._wait_s, ("SET", PROBE_KEY, self._name, "PX", PROBE_MS))
        # SUBSCRIBE is answered by a push, not in turn.
        connection.send_unanswered("SUBSCRIBE", WAKE_CHANNEL + self._name)
        await self._ask(connection, self._wait_s, ("PING",))

    async def _ask(
        self, connection: RedisConnection, within_s: float, *commands: tuple[Part, ...]
    ) -> None:
        """Send the commands and wait for all answers. Raises RedisError, TimeoutError."""
        answers = [Answered(self._loop) for _ in commands]
        for answered, command in zip(answers, commands, strict=True):
            connection.send(answered, *command)
        async with asyncio.timeout(within_s):
            for answered in answers:
                await answered.future

    def _make(self) -> RedisConnection:
        return RedisConnection(self._on_push, self._on_lost, self._loads)

    def _on_push(self, said: Sequence[object]) -> None:
        if len(said) == 3 and said[0] == b"message" and isinstance(said[2], bytes):
            self._listener.on_wake(said[2])

    def _on_lost(self, reason: str) -> None:
        self.fail(reason)

    def _on_no_connection(self, error: Exception) -> None:
        reason = str(error) or "it does not answer in time"
        if not self.state.trouble:
            log.warning(
                "Redis at %s cannot be used: %s. Each process enforces its share of the limits on"
                " requests until it can.",
                self._address,
                reason,
            )
            self.state = ServerState(False, time.time(), self.state.outages + 1, reason)
        self._lost.set()

    # Not waiting long

    def _watch_again(self, connection: RedisConnection) -> None:
        self._watching = self._loop.call_later(self._wait_s / 2, self._watch, connection)

    def _watch(self, connection: RedisConnection) -> None:
        self._watching = None
        if connection is not self._connection or not connection.waiting:
            self._seen = (0, 0)
            return
        answered, looks = self._seen
        looks = looks + 1 if answered == connection.answered else 1
        self._seen = (connection.answered, looks)
        if looks >= LOOKS:
            self._seen = (0, 0)
            self.fail("it does not answer in time")
        else:
            self._watch_again(connection)


class Answered:
    """A command whose answer is waited for."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.future: asyncio.Future[object] = loop.create_future()
        self.future.add_done_callback(_look_at)

    def on_reply(self, reply: object) -> None:
        if not self.future.done():
            self.future.set_result(reply)

    def on_failure(self, error: RedisError) -> None:
        if not self.future.done():
            self.future.set_exception(error)


def _look_at(future: asyncio.Future[object]) -> None:
    """Retrieve a failure: asyncio logs one that nobody retrieved."""
    if not future.cancelled():
        future.exception()
