"""Limits counted in Redis, for all processes together (docs/adr/0048).

A call costs one question: requests and slots of its workspace and its key, all or nothing
(gateway.stores.redis_scripts). What it gives back is sent and not waited for. While Redis is away
each process enforces its share of every limit, so all together stay within it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

from django.db import Error as DatabaseError
from msgspec import ValidationError, convert

from gateway.admission.counter_protocols import Entry, Level, ServerState, SpendingCounter
from gateway.core.errors import DatabaseUnavailable
from gateway.core.redis_address import RedisAddress
from gateway.stores.redis_connection import Part, RedisError, RedisRefused
from gateway.stores.redis_link import RedisLink
from gateway.stores.redis_rates import NS_PER_US, Share, SharedRate
from gateway.stores.redis_scripts import ENTER_SCRIPT
from gateway.stores.redis_slots import SharedSlots

log = logging.getLogger(__name__)

# Slots that are not renewed lapse after 35 s (redis_scripts.LEASE_US).
RENEW_EVERY_S = 10.0
LOOK_EVERY_S = 2.0

LookAtShare = Callable[[], Awaitable[Share]]
# What Redis answers: see ENTER of gateway.stores.redis_scripts.
Answer = tuple[int, int, int, int, int, int, int, int, int]
OwnLevel = tuple[SharedRate | None, SharedSlots | None]


class RedisCounters:
    """For one process and one event loop.

    look: at how many processes there are. spending: makes the counter of what a key has spent,
    which Redis has no part in. wait_s: how long a call may wait for Redis.
    """

    def __init__(
        self,
        address: RedisAddress,
        *,
        name: Callable[[], str],
        look: LookAtShare,
        spending: Callable[[str], SpendingCounter],
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

    def spending(self, key_id: str) -> SpendingCounter:
        return self._spending(key_id)

    # What makes it SharedLevels, too

    async def enter(
        self, levels: tuple[Level, Level], may_queue: tuple[bool, bool], *, wants_slots: bool
    ) -> Entry:
        """Ask Redis, or take of this process's shares where it does not answer."""
        own = _own(levels[0], wants_slots), _own(levels[1], wants_slots)
        if own == ((None, None), (None, None)):
            return Entry(None, 0, (False, False))
        if self.link.is_up:
            question = Question(own, asyncio.get_running_loop().create_future(), self)
            keys, arguments = _words(own, may_queue)
            self.link.run(question, ENTER_SCRIPT, keys, *arguments)
            try:
                entry = await question.answered
            except asyncio.CancelledError:
                question.leave()
                raise
            if entry is not None:
                return entry
        return self._enter_alone(own, may_queue)

    def _enter_alone(self, own: tuple[OwnLevel, OwnLevel], may_queue: tuple[bool, bool]) -> Entry:
        now_ns = time.monotonic_ns()
        counted: list[SharedRate] = []
        for index, (rate, _) in enumerate(own):
            if rate is None:
                continue
            if wait_ns := rate.take_share(self.share, now_ns):
                give_back(counted, now_ns)
                return Entry(index, wait_ns, (False, False))
            counted.append(rate)
        taken = [False, False]
        for index in (1, 0):
            slots = own[index][1]
            if slots is None:
                continue
            taken[index] = slots.take_share()
            if not taken[index]:
                if may_queue[index]:
                    break
                if taken[1]:
                    _release(own[1])
                give_back(counted, now_ns)
                return Entry(index, 0, (False, False))
        return Entry(None, 0, (taken[0], taken[1]))

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
            log.debug("The serving processes cannot be counted: %r", error)


class Question:
    """A call's question to Redis. Its answer is None where the shares have to do instead."""

    __slots__ = ("_counters", "_own", "answered")

    def __init__(
        self,
        own: tuple[OwnLevel, OwnLevel],
        answered: asyncio.Future[Entry | None],
        counters: RedisCounters,
    ) -> None:
        self._own = own
        self.answered = answered
        self._counters = counters
        for _, slots in own:
            if slots is not None:
                slots.unsure += 1
                counters.on_held(slots)

    def on_reply(self, reply: object) -> None:
        self._be_sure()
        try:
            answer = convert(reply, Answer)
        except ValidationError as error:
            self._counters.link.fail(f"it answers what was not expected: {error}")
            self._answer(None)
            return
        entry = self._follow(answer)
        if self.answered.done():  # its caller has left
            self._give_back(entry)
        else:
            self.answered.set_result(entry)

    def on_failure(self, error: RedisError) -> None:
        self._be_sure()
        # Another use of one key is no reason to do without Redis for all others.
        if isinstance(error, RedisRefused) and "WRONGTYPE" not in str(error):
            self._counters.link.fail(str(error))
        self._answer(None)

    def leave(self) -> None:
        """The caller has left. An answer that is here already is given back, too."""
        if self.answered.done() and not self.answered.cancelled():
            entry = self.answered.result()
            if entry is not None:
                self._give_back(entry)
        else:
            self.answered.cancel()

    def _follow(self, answer: Answer) -> Entry:
        """Take note of what Redis says."""
        happened, level, wait_us, *rest = answer
        used, in_use, taken = rest[0:2], rest[2:4], rest[4:6]
        now_ns = time.monotonic_ns()
        for index, (rate, slots) in enumerate(self._own):
            if rate is not None:
                rate.hear(used[index], now_ns)
            if slots is not None and happened != 1:
                slots.hear(in_use[index])
                if taken[index]:
                    slots.took()
        if happened:
            return Entry(level - 1, wait_us * NS_PER_US, (False, False))
        return Entry(None, 0, (bool(taken[0]), bool(taken[1])))

    def _answer(self, entry: Entry | None) -> None:
        if not self.answered.done():
            self.answered.set_result(entry)

    def _give_back(self, entry: Entry) -> None:
        if entry.refused is not None:
            return
        give_back([rate for rate, _ in self._own if rate is not None], time.monotonic_ns())
        for level, taken in zip(self._own, entry.has_slot, strict=True):
            if taken:
                _release(level)

    def _be_sure(self) -> None:
        for _, slots in self._own:
            if slots is not None:
                slots.unsure -= 1


def _own(level: Level, wants_slots: bool) -> OwnLevel:
    rate, slots = level.rate, level.concurrency
    return (
        rate if isinstance(rate, SharedRate) else None,
        slots if wants_slots and isinstance(slots, SharedSlots) else None,
    )


def _words(
    own: tuple[OwnLevel, OwnLevel], may_queue: tuple[bool, bool]
) -> tuple[list[str], list[Part]]:
    """Return the keys and the arguments of the script."""
    now_ns = time.monotonic_ns()
    keys: list[str] = []
    arguments: list[Part] = []
    # All keys are of one workspace; one that has no limit is named and not used.
    some = next(key for rate, slots in own for key in _keys_of(rate, slots) if key)
    for (rate, slots), queues in zip(own, may_queue, strict=True):
        keys += [key or some for key in _keys_of(rate, slots)]
        if rate is None:
            arguments += (0, 0, 0)
        else:
            arguments += (rate.per_minute, rate.burst, rate.used_us(now_ns))
        if slots is None:
            arguments += (0, 0, 0, 0)
        else:
            wants = 2 if slots.waiting else 1
            arguments += (slots.limit, slots.held, wants, 1 if queues else 0)
    return keys, arguments


def _keys_of(rate: SharedRate | None, slots: SharedSlots | None) -> tuple[str, str, str]:
    slots_key, waiters_key = ("", "") if slots is None else slots.keys
    return ("" if rate is None else rate.key, slots_key, waiters_key)


def _release(level: OwnLevel) -> None:
    slots = level[1]
    if slots is not None:
        slots.release()


def give_back(rates: list[SharedRate], now_ns: int) -> None:
    for rate in rates:
        rate.give_back(now_ns)
