"""What the connections of one process share: limits, clock, and who keeps how many open.

One walk over all connections every half second stands in for timers: a request that arrives
and is answered starts none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Protocol

from gateway.admission.address import is_in, neighbourhood, parse_address
from gateway.edge.hosts import Hosts
from gateway.edge.limits import Limits

WALK_S = 0.5
NEVER = float("inf")
# Connections that have only just been opened are not idle yet, however many there are of them,
# but one address does not get more at once than this many times its share.
SETTLE_S = 1.0
BURST = 16


class Connection(Protocol):
    """deadline: on the loop's clock, NEVER for none."""

    deadline: float

    def on_deadline(self, now: float) -> None: ...

    def dismiss(self) -> None: ...


class Guard:
    """Used from one event loop only."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.hosts = Hosts(limits.allowed_hosts)
        self._idle: dict[str, dict[Connection, float]] = {}
        self._is_walking = False
        self.address_of = lru_cache(maxsize=4096)(self._address_of)

    def _address_of(self, peer: str) -> str:
        """Return what a peer's connections are counted under; empty when they are not counted."""
        address = parse_address(peer)
        if address is None or is_in(address, self.limits.trusted_proxies):
            return ""
        return neighbourhood(address)

    def watch(self, loop: asyncio.AbstractEventLoop, connections: Iterable[Any]) -> None:
        """Begin to walk over these connections, for as long as there are any."""
        if not self._is_walking:
            self._is_walking = True
            loop.call_later(WALK_S, self._walk, loop, connections)

    def _walk(self, loop: asyncio.AbstractEventLoop, connections: Iterable[Any]) -> None:
        now = loop.time()
        everyone = list(connections)
        for connection in everyone:
            if connection.deadline <= now:
                connection.on_deadline(now)
        for idle in list(self._idle.values()):
            if len(idle) > self.limits.idle_connections:
                self._thin_out(idle, now)
        self._is_walking = False
        if everyone:
            self.watch(loop, connections)

    def _thin_out(self, idle: dict[Connection, float], now: float) -> None:
        """Dismiss those that have been idle longest, down to what one address may keep."""
        surplus = len(idle) - self.limits.idle_connections
        for connection, since in list(idle.items())[:surplus]:
            if since + SETTLE_S <= now:
                connection.dismiss()

    def is_full(self, address: str) -> bool:
        return len(self._idle.get(address, ())) >= self.limits.idle_connections * BURST

    def rests(self, connection: Connection, address: str, now: float) -> None:
        """A connection waits for a request."""
        if address:
            self._idle.setdefault(address, {})[connection] = now

    def works(self, connection: Connection, address: str) -> None:
        """A connection has a request, or is gone."""
        idle = self._idle.get(address)
        if idle is not None and idle.pop(connection, None) is not None and not idle:
            del self._idle[address]
