"""Limits counted in Redis, for all processes together (docs/adr/0048).

A call costs one question: all that is counted for it and its slots, all or nothing
(gateway.stores.redis_scripts). What it gives back is sent and not waited for. While Redis is away
each process enforces its share of every limit, so all together stay within it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from django.db import Error as DatabaseError

from gateway.admission.counter_protocols import (
    Entry,
    RateCounter,
    Reserved,
    ServerState,
    Slot,
    SpendingCounter,
)
from gateway.admission.limit_rules import Reservation
from gateway.core.errors import DatabaseUnavailable
from gateway.core.redis_address import RedisAddress
from gateway.snapshot.types import LimitRule
from gateway.stores.redis_link import RedisLink
from gateway.stores.redis_question import (
    Asked,
    AskedRate,
    AskedRule,
    Question,
    shared_slots,
)
from gateway.stores.redis_rates import Share, SharedRate
from gateway.stores.redis_rules import SharedRule, SharedRules
from gateway.stores.redis_slots import SharedSlots

log = logging.getLogger(__name__)

# Slots that are not renewed lapse after 35 s (redis_scripts.LEASE_US).
RENEW_EVERY_S = 10.0
LOOK_EVERY_S = 2.0

LookAtShare = Callable[[], Awaitable[Share]]


class RedisCounters:
    """For one process and one event loop.

    look: at how many processes there are. spending: the counter of what has been spent,
    which Redis has no part in. wait_s: how long a call may wait for Redis.
    """

    def __init__(
        self,
        address: RedisAddress,
        *,
        name: Callable[[], str],
        look: LookAtShare,
        spending: SpendingCounter,
        wait_s: float = 0.05,
    ) -> None:
        self.link = RedisLink(address, wait_s, self)
        self.levels = self
        self.share = Share(1, 0)
        self._name = name
        self._look = look
        self._spending = spending
        self._held: dict[str, SharedSlots] = {}
        self._lent: set[SharedRate] = set()
        self.rules = SharedRules(self.link)
        self.now_us, self.correct = self.rules.now_us, self.rules.correct
        self._tending: asyncio.Task[None] | None = None

    # What makes it Counters of gateway.admission.counter_protocols

    async def start(self) -> None:
        await self._look_at_share()
        await self.link.start(self._name())
        self._tending = asyncio.ensure_future(self._tend())

    async def aclose(self) -> None:
        if self._tending is not None:
            self._tending.cancel()
            with suppress(asyncio.CancelledError):
                await self._tending
        await self.link.aclose()

    def rate(self, owner: str, per_minute: int, burst: int, *, workspace_id: str) -> SharedRate:
        key = f"tollhouse:{{{workspace_id}}}:rate:{owner}"
        now_ns = time.monotonic_ns()
        return SharedRate(
            per_minute, burst, now_ns, key=key, link=self.link, on_lent=self._lent.add
        )

    def concurrency(self, owner: str, limit: int, *, workspace_id: str) -> SharedSlots:
        place = f"tollhouse:{{{workspace_id}}}:"
        return SharedSlots(limit, (f"{place}slots:{owner}", f"{place}waiters:{owner}"), self)

    def spending(self) -> SpendingCounter:
        return self._spending

    def rule(self, rule: LimitRule) -> SharedRule:
        return SharedRule(rule)

    # What makes it SharedLevels, too

    async def enter(
        self,
        counted: Sequence[RateCounter | Reserved],
        slots: Sequence[Slot],
        *,
        only_asks: bool = False,
    ) -> Entry:
        """Ask Redis, or take of this process's shares where it does not answer."""
        asked: list[Asked] = []
        for each in counted:
            if isinstance(each, SharedRate):
                asked.append(AskedRate(each))
            elif isinstance(each, Reservation) and isinstance(each.counter, SharedRule):
                asked.append(AskedRule(each, each.counter, self.rules))
        question = Question(asked, shared_slots(slots), self, self.rules, takes=not only_asks)
        if self.link.is_up:
            question.send()
            try:
                entry = await question.answered
            except asyncio.CancelledError:
                question.leave()
                raise
            if entry is not None:
                return entry
        return question.answer_alone(self.share)

    # What gateway.stores.redis_slots asks of it

    def share_of(self, limit: int) -> int:
        return self.share.of(limit)

    def on_held(self, slots: SharedSlots) -> None:
        self._held[slots.keys[0]] = slots

    def call_later(self, delay_s: float, work: Callable[[], None]) -> None:
        asyncio.get_running_loop().call_later(delay_s, work)

    # What gateway.stores.redis_link tells it

    def on_up(self) -> None:
        """Tell Redis what it has missed, before anybody asks it again."""
        now_ns = time.monotonic_ns()
        for rate in self._lent:
            rate.tell_lent(self.share, now_ns)
        self._lent.clear()
        self.rules.on_up()
        self._renew()
        self._wake_all()

    def on_down(self) -> None:
        self._wake_all()

    def on_wake(self, slots_key: bytes) -> None:
        slots = self._held.get(slots_key.decode())
        if slots is not None:
            slots.wake()

    @property
    def state(self) -> ServerState:
        return self.link.state

    def _wake_all(self) -> None:
        for slots in list(self._held.values()):
            slots.wake()

    def _renew(self) -> None:
        for name, slots in list(self._held.items()):
            slots.renew()
            if slots.is_idle:
                del self._held[name]

    async def _tend(self) -> None:
        """Renew the slots, and know how many processes there are."""
        renewed_s = time.monotonic()
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            await self._look_at_share()
            if self.link.is_up and time.monotonic() - renewed_s >= RENEW_EVERY_S:
                renewed_s = time.monotonic()
                self._renew()

    async def _look_at_share(self) -> None:
        try:
            self.share = await self._look()
        except (DatabaseError, DatabaseUnavailable) as error:
            log.debug("The server processes cannot be counted: %r", error)
