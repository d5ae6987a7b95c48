"""What the connections of one process share: limits, a clock, and how many each client has open.

One walk over all connections every half second stands in for timers: a request that arrives
and is answered starts none.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any, Protocol
from weakref import WeakValueDictionary

from gateway.admission.address import client_subnet, find_caller, is_in, parse_address
from gateway.core.asgi import ReadOnlyScope
from gateway.core.errors import GatewayError, ServerStopping
from gateway.core.fair_loop_quota import FairLoopQuota
from gateway.core.fair_queue import Owner
from gateway.core.loop_quota import LoopQuota
from gateway.core.overload import overloaded, spread_retry_after_s
from gateway.core.request import RequestHead
from gateway.edge.body_budget import BodyBudget
from gateway.edge.body_limits import UNLIMITED
from gateway.edge.cors import Origins
from gateway.edge.discarding import Discarding
from gateway.edge.fair_reads import READS_PER_PASS, FairFlowControl
from gateway.edge.hosts import Hosts
from gateway.edge.https import Https
from gateway.edge.limits import EdgeLimits
from gateway.edge.load import Memory
from gateway.edge.refusal_rate import RefusalRate

WALK_S = 0.5
NEVER = float("inf")
# Connections that have only just been opened are not idle yet, however many there are of them,
# but one address does not get more at once than this many times its share.
SETTLE_S = 1.0
BURST = 16
# So many requests begin to run in a pass of the loop, fewer where passes take longer than this.
STARTS_PER_PASS = 16
PASS_NS = 1_000_000
# Idle connections that are dismissed at once when there are too many of all addresses.
MADE_ROOM = 8

ErrorPage = Callable[[int, str], tuple[list[tuple[bytes, bytes]], bytes]]


class Connection(Protocol):
    """deadline: on the loop's clock, NEVER for none."""

    deadline: float

    def on_deadline(self, now: float) -> None: ...

    def dismiss(self) -> None: ...


class Idle(dict[Connection, float]):
    """Those of one address that wait without a request, and since when; the longest first.

    A class of its own because a plain dict cannot be referred to weakly.
    """


def unlimited(method: str, path: str) -> int:
    return UNLIMITED


class ConnectionLimiter:
    """Used from one event loop only. Connections enter and leave their Idle themselves.

    find_body_limit: the most bytes that a body may have, of a method and a path, 0 where none is
    read. error_page: an error of this status and sentence as a page, head fields and body.
    """

    def __init__(
        self,
        limits: EdgeLimits,
        find_body_limit: Callable[[str, str], int] = unlimited,
        error_page: ErrorPage | None = None,
    ) -> None:
        self.limits = limits
        self.body_budget = BodyBudget(limits.body_memory_bytes)
        self.find_body_limit = find_body_limit
        self.error_page = error_page
        self.refusal_rate = RefusalRate(limits.refusals_per_s, limits.trusted_proxies)
        https = Https(is_public=limits.is_public_https, trusted_proxies=limits.trusted_proxies)
        self.https = https if https.is_possible else None
        self.hosts = Hosts(limits.allowed_hosts)
        self.origins = Origins(limits.cors_origins) if limits.cors_origins else None
        # Connections keep theirs alive, so an address nobody is connected from is forgotten.
        self._idle: WeakValueDictionary[str, Idle] = WeakValueDictionary()
        self._uncounted = Idle()
        self._is_walking = False
        self.discarding = Discarding()
        self._reads: LoopQuota | None = None
        self._starts: FairLoopQuota | None = None
        self._memory = Memory(limits.memory_bytes)
        self._is_draining = False
        # Answers end their connections: other processes take the next ones.
        self.is_retiring = False
        # None while requests are taken; else makes the refusal of each.
        self.refuse: Callable[[], GatewayError] | None = None
        # How many requests were refused here, by error code.
        self.refused: Counter[str] = Counter()

    @property
    def is_draining(self) -> bool:
        return self._is_draining

    def idle_of(self, peer: str) -> Idle:
        """Return the idle connections of a peer's address, to be entered and left."""
        address = parse_address(peer)
        if address is None or is_in(address, self.limits.trusted_proxies):
            return self._uncounted
        return self._idle.setdefault(client_subnet(address), Idle())

    def subnet_of(self, peer: str, scope: ReadOnlyScope) -> str:
        """Return where a request comes from, as a proxy that is trusted says."""
        headers = scope["headers"]
        head = RequestHead(headers=headers, peer=peer, fields=dict(headers))
        address = find_caller(head, self.limits.trusted_proxies)
        return "" if address is None else client_subnet(address)

    def is_full(self, idle: Idle) -> bool:
        allowed = self.limits.idle_connections * BURST
        return len(idle) >= allowed and idle is not self._uncounted

    def begin_drain(self) -> None:
        """Take no more requests: the server stops when the running ones have ended."""
        self._is_draining = True
        self.refuse = stopping

    def control_flow(
        self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop
    ) -> FairFlowControl:
        """Return the flow control of a connection, which takes turns with all others."""
        if self._reads is None or self._reads.loop is not loop:
            self._reads = LoopQuota(loop, READS_PER_PASS)
        return FairFlowControl(transport, self._reads)

    def share_starts(self, loop: asyncio.AbstractEventLoop) -> FairLoopQuota:
        """Return what says when a request of a connection begins to run."""
        if self._starts is None or self._starts.loop is not loop:
            self._starts = FairLoopQuota(loop, STARTS_PER_PASS, PASS_NS)
        return self._starts

    def owner_of(self, peer: str, scope: ReadOnlyScope) -> Owner:
        """Return whose a request is as far as can be said before it runs: addresses take turns, and
        the keys that come from each."""
        fields = dict(scope["headers"])
        key = fields.get(b"authorization") or fields.get(b"x-api-key") or b""
        return Owner(self.subnet_of(peer, scope), key.decode("latin-1"))

    def start_delay_s(self) -> float:
        """About how long requests wait before they begin to run."""
        return 0.0 if self._starts is None else self._starts.delay_s

    def make_room(self, now: float) -> None:
        """Dismiss one idle connection, of the address that has most of them."""
        idle = max(self._idle.values(), key=len, default=None)
        if idle:
            self._dismiss(list(islice(idle.items(), MADE_ROOM)), now)

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
        if not self._is_draining:
            self.refuse = short_of_memory if self._memory.check() else None
        self._is_walking = False
        if everyone:
            self.watch(loop, connections)

    def _thin_out(self, idle: Idle, now: float) -> None:
        """Dismiss those that have been idle longest, down to what one address may keep."""
        surplus = len(idle) - self.limits.idle_connections
        self._dismiss(list(islice(idle.items(), surplus)), now)

    def _dismiss(self, connections: list[tuple[Connection, float]], now: float) -> None:
        for connection, since in connections:
            if since + SETTLE_S <= now:
                connection.dismiss()


def short_of_memory() -> GatewayError:
    return overloaded(
        "The server is low on memory. The request was not run. Try again in a moment."
    )


def stopping() -> GatewayError:
    return ServerStopping(
        "The server is restarting. The request was not run. Try again in a moment.",
        retry_after_s=spread_retry_after_s(),
    )
