"""How much a key and its workspace may: calls a minute, calls at once, and what the key may spend.

Everything is counted in this process's memory, and only for keys that have limits. Used from one
event loop; `Rates` may be read from any thread.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from itertools import islice
from typing import NamedTuple, Protocol, TypeVar

from gateway.admission.concurrency_limiter import ConcurrencyLimiter, HangUp
from gateway.admission.limiter_state import LimiterState, Rates, concurrency_limited, rate_limited
from gateway.admission.spending import Spending
from gateway.admission.token_bucket import TokenBucket
from gateway.core.errors import ServerStopping
from gateway.core.grant import Grant
from gateway.core.spent import Reading
from gateway.snapshot.types import CallLimits, KeyLimits, KeyRecord, SpendingLimits

NS_PER_US = 1_000
MAX_KEPT = 100_000
LOOKED_AT = 64


class QueueLimits(NamedTuple):
    """How long a call may wait for a slot, in seconds, and how many calls may wait in one queue."""

    queue_s: float = 30.0
    max_queue: int = 100


class Lease:
    """What one call has taken of its limits. queued_us: how long it waited in queues."""

    __slots__ = ("_acquired", "_buckets", "_hold_nusd", "_spending", "queued_us")

    def __init__(self) -> None:
        self.queued_us = 0
        self._buckets: tuple[TokenBucket, ...] = ()
        self._acquired: list[ConcurrencyLimiter] = []
        self._spending: Spending | None = None
        self._hold_nusd = 0

    def hold(self, spending: Spending, hold_nusd: int) -> None:
        self._spending, self._hold_nusd = spending, hold_nusd

    def count(self, buckets: tuple[TokenBucket, ...], now_ns: int) -> None:
        self._buckets = buckets
        for bucket in buckets:
            bucket.take(now_ns)

    def acquired(self, limiter: ConcurrencyLimiter) -> None:
        self._acquired.append(limiter)

    def settle(self) -> None:
        """End the hold: what the call has cost is known."""
        if self._spending is not None:
            self._spending.release(self._hold_nusd)
            self._spending = None

    def end(self) -> None:
        """Give everything back but the request, which was made. Again it does nothing."""
        self.settle()
        while self._acquired:
            self._acquired.pop().release()

    def withdraw(self) -> None:
        """Give everything back: the call was not let in after all."""
        now_ns = time.monotonic_ns()
        for bucket in self._buckets:
            bucket.give_back(now_ns)
        self._buckets = ()
        self.end()


class Limiter(Protocol):
    """What admission asks of whoever counts: this process's memory, or something shared."""

    def rates_of(self, key: KeyRecord, limits: KeyLimits) -> Rates | None: ...

    async def look(self, key: KeyRecord, limits: KeyLimits, model: str, hold_nusd: int) -> None: ...

    async def enter(
        self, key: KeyRecord, limits: KeyLimits, model: str, hold_nusd: int, hang_up: HangUp
    ) -> Lease: ...


Kept = TypeVar("Kept")


class Limits:
    """Counts for one process.

    read_spent: reads what a key has spent from the book; raises DatabaseUnavailable.
    spendings: of the keys whose spending is counted, by their ids.
    """

    def __init__(
        self,
        read_spent: Callable[[str], Awaitable[Reading]],
        queue_limits: QueueLimits | None = None,
    ) -> None:
        self._read_spent = read_spent
        self._queue_limits = queue_limits or QueueLimits()
        self._states: dict[str, LimiterState] = {}
        self.spendings: dict[str, Spending] = {}
        self._readings: dict[str, asyncio.Task[None]] = {}
        self._doubts = 0
        self._is_closed = False

    def rates_of(self, key: KeyRecord, limits: KeyLimits) -> Rates | None:
        """Return the limits on requests that a caller with this key is under, if any."""
        states = self._follow(key, limits, time.monotonic_ns())
        buckets = [state.bucket for state in states if state.bucket is not None]
        return Rates(buckets) if buckets else None

    async def look(self, key: KeyRecord, limits: KeyLimits, model: str, hold_nusd: int) -> None:
        """Raise what enter would raise now for want of money or requests; nothing is taken."""
        lease = Lease()
        try:
            if limits.of_spending is not None:
                await self._hold(key.key_id, limits.of_spending, hold_nusd, lease)
            self._count(self._follow(key, limits, time.monotonic_ns()), model, lease)
        finally:
            lease.withdraw()

    async def enter(
        self, key: KeyRecord, limits: KeyLimits, model: str, hold_nusd: int, hang_up: HangUp
    ) -> Lease:
        """Admit a call once it has its slots. The lease must be ended, however the call ends.

        hold_nusd: what it may cost at most. Raises KeyLimitExceeded, then RateLimited, then
        ConcurrencyLimited; CallerLeft when hang_up returns while it waits; DatabaseUnavailable,
        ServerStopping.
        """
        lease = Lease()
        try:
            if limits.of_spending is not None:
                await self._hold(key.key_id, limits.of_spending, hold_nusd, lease)
            states = self._follow(key, limits, time.monotonic_ns())
            self._count(states, model, lease)
            # The key's own first: a call that waits there takes no slot from other keys.
            for state in reversed(states):
                limiter = state.concurrency
                if limiter is None:
                    continue
                if not limiter.try_acquire():
                    await self._queue(state, limiter, model, lease, hang_up)
                lease.acquired(limiter)
        except BaseException:
            lease.withdraw()
            raise
        return lease

    def charged(self, grant: Grant, charge_nusd: int, record: int) -> None:
        """Count what a call has cost. record: see Spending.charge."""
        spending = self.spendings.get(grant.key_id)
        if spending is not None:
            spending.charge(charge_nusd, grant.identity.at, record)
        if grant.lease is not None:
            grant.lease.settle()

    def follow(self, key: KeyRecord) -> None:
        """Apply changed limits to the calls in the queues."""
        if key.limits is not None:
            self._follow(key, key.limits, time.monotonic_ns())
            return
        for name in (key.workspace_id, key.key_id):
            if name in self._states:
                self._states[name].follow(CallLimits(), time.monotonic_ns())

    def has_queue(self, name: str) -> bool:
        """True when calls of the key or workspace wait in a queue."""
        state = self._states.get(name)
        return state is not None and state.concurrency is not None and state.concurrency.waiting > 0

    def doubt_spending(self) -> None:
        """Read the book again before the next call of every key whose spending is counted."""
        self._doubts += 1
        for spending in self.spendings.values():
            spending.doubt()

    def close(self) -> None:
        """Fail every call in a queue, and let none queue any more."""
        self._is_closed = True
        for state in self._states.values():
            if state.concurrency is not None:
                state.concurrency.reject_waiting(ServerStopping)

    def _follow(
        self, key: KeyRecord, limits: KeyLimits, now_ns: int
    ) -> tuple[LimiterState, LimiterState]:
        """Return the states of the workspace and of the key, in this order."""
        workspace = self._states.get(key.workspace_id)
        if workspace is None:
            workspace = self._keep_state(key.workspace_id, LimiterState("organisation"), now_ns)
        own = self._states.get(key.key_id)
        if own is None:
            own = self._keep_state(key.key_id, LimiterState("token"), now_ns)
        workspace.follow(limits.of_workspace, now_ns)
        own.follow(limits.of_key, now_ns)
        return workspace, own

    def _keep_state(self, name: str, state: LimiterState, now_ns: int) -> LimiterState:
        if len(self._states) >= MAX_KEPT:
            forget_one(self._states, lambda kept: kept.is_idle(now_ns))
        self._states[name] = state
        return state

    def _count(self, states: Sequence[LimiterState], model: str, lease: Lease) -> None:
        """Count a request in every state, or in none. Raises RateLimited."""
        now_ns = time.monotonic_ns()
        for state in states:
            if state.bucket is not None and state.bucket.wait_ns(now_ns):
                raise rate_limited(state, state.bucket, model, now_ns)
        lease.count(tuple(state.bucket for state in states if state.bucket is not None), now_ns)

    async def _queue(
        self,
        state: LimiterState,
        limiter: ConcurrencyLimiter,
        model: str,
        lease: Lease,
        hang_up: HangUp,
    ) -> None:
        """Wait in the queue of a state. Raises as enter does."""
        if self._is_closed:
            raise ServerStopping
        if limiter.waiting >= self._queue_limits.max_queue:
            raise concurrency_limited(state, limiter, model, "and the queue is full")
        began_ns = time.perf_counter_ns()
        left_s = self._queue_limits.queue_s - lease.queued_us / 10**6
        try:
            await limiter.acquire(left_s, hang_up)
        except TimeoutError:
            words = f"and none ended within {self._queue_limits.queue_s:g} s"
            raise concurrency_limited(state, limiter, model, words) from None
        finally:
            lease.queued_us += (time.perf_counter_ns() - began_ns) // NS_PER_US

    async def _hold(
        self, key_id: str, limits: SpendingLimits, hold_nusd: int, lease: Lease
    ) -> None:
        """Hold a part of what the key may spend. Raises as enter does."""
        spending = self.spendings.get(key_id)
        if spending is None or not spending.is_read:
            spending = await self._begin_spending(key_id)
        spending.hold(limits, hold_nusd, time.time())
        lease.hold(spending, hold_nusd)

    async def _begin_spending(self, key_id: str) -> Spending:
        """Return what the key has spent, read once however many calls want to know."""
        spending = self.spendings.get(key_id)
        if spending is None:
            if len(self.spendings) >= MAX_KEPT:
                forget_one(self.spendings, lambda kept: kept.is_read and not kept.held_nusd)
            spending = self.spendings[key_id] = Spending()
        reading = self._readings.get(key_id)
        if reading is None:
            reading = self._readings[key_id] = asyncio.ensure_future(self._read(key_id, spending))
            reading.add_done_callback(look_at)
        # Shielded: a caller that leaves must not take the answer away from the others.
        await asyncio.shield(reading)
        return spending

    async def _read(self, key_id: str, spending: Spending) -> None:
        try:
            while not spending.is_read:
                doubts = self._doubts
                spending.begin_reading()
                reading = await self._read_spent(key_id)
                if doubts == self._doubts:
                    spending.read(reading)
        except BaseException:
            spending.doubt()
            raise
        finally:
            del self._readings[key_id]


def look_at(task: asyncio.Task[None]) -> None:
    """Look at a failure: if all who wanted to know have left, it would be logged as never seen."""
    if not task.cancelled():
        task.exception()


def forget_one(table: dict[str, Kept], is_idle: Callable[[Kept], bool]) -> None:
    """Forget the oldest of a few that have nothing to remember."""
    for name in list(islice(table, LOOKED_AT)):
        if is_idle(table[name]):
            del table[name]
            return
