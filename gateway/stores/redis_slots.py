"""Running calls of one key or workspace, counted in Redis; those of this process, and its queue.

Each process that has a queue waits in Redis, too, and processes take turns: a slot goes to the one
that has waited longest by Redis's clock, since its queue began or it last got a slot for a call in
it. That process is woken, and asks; which of its calls gets the slot is its queue's to say.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from msgspec import ValidationError, convert

from gateway.admission.concurrency_limiter import ConcurrencyLimiter, Waiter
from gateway.admission.counter_protocols import HangUp, QueueLimits
from gateway.core.fair_queue import Owner
from gateway.stores.redis_connection import RedisError
from gateway.stores.redis_link import RedisLink
from gateway.stores.redis_scripts import (
    LEAVE_SCRIPT,
    RELEASE_SCRIPT,
    RENEW_SCRIPT,
    TAKE_SCRIPT,
)

# Nobody is refused before Redis could have answered.
LEAST_WAIT_S = 0.05
# A waiter asks again: somebody's slots may have lapsed, which wakes nobody.
ASK_AGAIN_S = 0.25


class Floor(Protocol):
    """What the slots of one process have in common (gateway.stores.redis_counters)."""

    link: RedisLink

    def share_of(self, limit: int) -> int:
        """Return how many slots this process has while Redis is away."""

    def on_held(self, slots: SharedSlots) -> None:
        """A slot is in use, or a call waits: renew it from now on."""

    def call_later(self, delay_s: float, work: Callable[[], None]) -> None: ...


class SharedSlots(ConcurrencyLimiter):
    """in_use: as Redis last said, of all processes. held: of this one, for certain. unsure: how
    many questions have no answer yet."""

    __slots__ = (
        *("_asks", "_floor", "_is_waiting", "_polls", "_waits_since"),
        *("held", "keys", "unsure"),
    )

    def __init__(self, limit: int, keys: tuple[str, str], floor: Floor) -> None:
        super().__init__(limit)
        self.keys = keys
        self.held = 0
        self.unsure = 0
        self._floor = floor
        # Since when this process waits for its turn.
        self._waits_since = 0.0
        self._asks = False
        self._polls = False
        self._is_waiting = False

    @property
    def is_idle(self) -> bool:
        return not (self.held or self.unsure or self._queue)

    def try_acquire(self) -> bool:
        """Redis has to be asked, and was about all levels at once; what is left is to wait."""
        return False

    @property
    def has_share(self) -> bool:
        """True when a slot of this process's share is free, while Redis is away."""
        return not self._queue and self.held < self._floor.share_of(self.limit)

    def took(self) -> None:
        """A slot is this process's."""
        self.held += 1
        self._floor.on_held(self)

    def hear(self, in_use: int) -> None:
        """Redis says how many slots are in use."""
        self.in_use = in_use

    def release(self) -> None:
        link = self._floor.link
        if link.is_up:
            link.tell(RELEASE_SCRIPT, self.keys, self.held)
        self.held -= 1
        self.in_use = max(self.in_use - 1, self.held)
        if not link.is_up:
            self._wake_next()

    def renew(self) -> None:
        """Have Redis keep this process's slots, or learn of them again."""
        self._floor.link.tell(RENEW_SCRIPT, self.keys, self.held, 0 if self.unsure else 1)

    def wake(self) -> None:
        """There may be a slot for a call in the queue."""
        self._wake_next()

    # The answer to a queue that asked

    def on_reply(self, reply: object) -> None:
        self.unsure -= 1
        self._asks = False
        try:
            got, self.in_use = convert(reply, tuple[int, int])
        except ValidationError as error:
            self._floor.link.fail(f"it answers what was not expected: {error}")
            return
        if not got:
            self._ask_again_later()
            self._stop_waiting()
            return
        self._is_waiting = False
        self._waits_since = time.monotonic()
        self.took()
        self._hand_over()
        self._wake_next()

    def on_failure(self, error: RedisError) -> None:
        self.unsure -= 1
        self._asks = False
        self._ask_again_later()

    def _hand_over(self) -> None:
        """Give the slot that was taken to whose turn it is, or back."""
        while self._queue:
            waiter = self._queue.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self.release()

    # ConcurrencyLimiter

    async def acquire(self, owner: Owner, limits: QueueLimits, wait_for_hang_up: HangUp) -> None:
        limits = limits._replace(queue_s=max(limits.queue_s, LEAST_WAIT_S))
        await super().acquire(owner, limits, wait_for_hang_up)

    def _join(self, owner: Owner, waiter: Waiter) -> None:
        if not self._queue:
            self._waits_since = time.monotonic()
        super()._join(owner, waiter)
        self._floor.on_held(self)
        self._wake_next()

    def _wake_next(self) -> None:
        while self._queue and self._queue.first().done():
            self._queue.popleft()
        if not self._queue or self._asks:
            return
        link = self._floor.link
        if link.is_up:
            self._ask(link)
            return
        while self._queue and self.held < self._floor.share_of(self.limit):
            self.took()
            self._hand_over()
        self._ask_again_later()

    def _ask(self, link: RedisLink) -> None:
        waited_s = time.monotonic() - self._waits_since
        self._asks = self._is_waiting = True
        self.unsure += 1
        link.run(self, TAKE_SCRIPT, self.keys, self.limit, self.held, int(waited_s * 10**6))

    def _ask_again_later(self) -> None:
        if self._queue and not self._polls:
            self._polls = True
            self._floor.call_later(ASK_AGAIN_S, self._poll)

    def _poll(self) -> None:
        self._polls = False
        self._wake_next()

    def _leave(self, owner: Owner, waiter: Waiter) -> None:
        super()._leave(owner, waiter)
        self._stop_waiting()

    def _stop_waiting(self) -> None:
        if not self._queue and self._is_waiting and not self._asks:
            self._is_waiting = False
            if self._floor.link.is_up:
                self._floor.link.tell(LEAVE_SCRIPT, self.keys)
