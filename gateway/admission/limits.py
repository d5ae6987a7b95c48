"""Applies the limits of keys and their workspaces: requests per minute, concurrent requests, and
what a key may spend.

Only keys that have limits are counted, by counters that are handed in
(gateway.admission.counter_protocols).
Used from one event loop; `Rates` may be read from any thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import islice
from typing import NamedTuple, Protocol, TypeVar

from gateway.admission.counter_protocols import (
    ConcurrencyCounter,
    Counters,
    HangUp,
    RateCounter,
    ServerState,
    SharedLevels,
    SpendingCounter,
)
from gateway.admission.limiter_state import LimiterState, Rates, concurrency_limited, rate_limited
from gateway.core.errors import ServerStopping
from gateway.core.grant import Grant
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

    __slots__ = ("_acquired", "_hold_nusd", "_limits", "_rates", "_spending", "queued_us")

    def __init__(self) -> None:
        self.queued_us = 0
        self._rates: list[RateCounter] = []
        self._acquired: list[ConcurrencyCounter] = []
        self._spending: SpendingCounter | None = None
        self._limits: SpendingLimits | None = None
        self._hold_nusd = 0

    def held(self, spending: SpendingCounter, limits: SpendingLimits, hold_nusd: int) -> None:
        self._spending, self._limits, self._hold_nusd = spending, limits, hold_nusd

    async def grow(self, nusd: int) -> None:
        """Hold so much more. Raises KeyLimitExceeded, DatabaseUnavailable."""
        spending, limits = self._spending, self._limits
        if spending is None or limits is None:
            return
        if not spending.try_hold(limits, nusd):
            await spending.hold(limits, nusd)
        self._hold_nusd += nusd

    def counted(self, rate: RateCounter) -> None:
        self._rates.append(rate)

    def acquired(self, limiter: ConcurrencyCounter) -> None:
        self._acquired.append(limiter)

    def has(self, limiter: ConcurrencyCounter) -> bool:
        return limiter in self._acquired

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
        while self._rates:
            self._rates.pop().give_back(now_ns)
        self.end()


class Limiter(Protocol):
    """What admission asks of the limits."""

    def rates_of(self, key: KeyRecord, limits: KeyLimits) -> Rates | None: ...

    async def check(
        self, key: KeyRecord, limits: KeyLimits, model: str, hold_nusd: int
    ) -> None: ...

    async def acquire(
        self, key: KeyRecord, limits: KeyLimits, model: str, hold_nusd: int, hang_up: HangUp
    ) -> Lease: ...


Kept = TypeVar("Kept")


class Limits:
    """Of one process. spendings: the counters of keys that have a budget, by their ids."""

    def __init__(self, counters: Counters, queue_limits: QueueLimits | None = None) -> None:
        self._counters = counters
        self._levels = counters.levels
        self._queue_limits = queue_limits or QueueLimits()
        self._states: dict[str, LimiterState] = {}
        self.spendings: dict[str, SpendingCounter] = {}
        self._is_closed = False
        # Calls that wait in a queue.
        self.queued = 0

    def rates_of(self, key: KeyRecord, limits: KeyLimits) -> Rates | None:
        """Return the limits on requests that a caller with this key is under, if any."""
        states = self._follow(key, limits, time.monotonic_ns())
        counters = [state.rate for state in states if state.rate is not None]
        return Rates(counters) if counters else None

    async def check(self, key: KeyRecord, limits: KeyLimits, model: str, hold_nusd: int) -> None:
        """Raise what acquire would raise now for want of money or requests; nothing is taken."""
        lease = Lease()
        try:
            if limits.of_spending is not None:
                await self._hold(key.key_id, limits.of_spending, hold_nusd, lease)
            now_ns = time.monotonic_ns()
            states = self._follow(key, limits, now_ns)
            if self._levels is not None:
                await self._enter(self._levels, states, model, lease, wants_slots=False)
            elif unsure := self._try_count(states, lease, now_ns):
                await self._count(unsure, model, lease)
        finally:
            lease.withdraw()

    async def acquire(
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
            now_ns = time.monotonic_ns()
            states = self._follow(key, limits, now_ns)
            if self._levels is not None:
                await self._enter(self._levels, states, model, lease)
            elif unsure := self._try_count(states, lease, now_ns):
                await self._count(unsure, model, lease)
            # The key's own first: a call that waits there takes no slot from other keys.
            for state in reversed(states):
                limiter = state.concurrency
                if limiter is None or (self._levels is not None and lease.has(limiter)):
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
        spending = self.spendings.get(grant.identity.key_id)
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

    def invalidate_spending(self) -> None:
        """Have the spending of every key read again before its next call."""
        for spending in self.spendings.values():
            spending.invalidate()

    @property
    def server_state(self) -> ServerState | None:
        """How the machine is that counts for several processes; None where there is none."""
        return None if self._levels is None else self._levels.state

    def close(self) -> None:
        """Fail every call in a queue, and let none queue any more."""
        self._is_closed = True
        for state in self._states.values():
            if state.concurrency is not None:
                state.concurrency.reject_waiting(ServerStopping)

    async def start(self) -> None:
        """Connect the counters, before the first call."""
        await self._counters.start()

    async def aclose(self) -> None:
        """Close the connections of the counters, after the last call."""
        await self._counters.aclose()

    def _follow(
        self, key: KeyRecord, limits: KeyLimits, now_ns: int
    ) -> tuple[LimiterState, LimiterState]:
        """Return the states of the workspace and of the key, in this order."""
        workspace = self._states.get(key.workspace_id)
        if workspace is None:
            workspace = self._keep_state(key.workspace_id, key, now_ns)
        own = self._states.get(key.key_id)
        if own is None:
            own = self._keep_state(key.key_id, key, now_ns)
        workspace.follow(limits.of_workspace, now_ns)
        own.follow(limits.of_key, now_ns)
        return workspace, own

    def _keep_state(self, owner: str, key: KeyRecord, now_ns: int) -> LimiterState:
        if len(self._states) >= MAX_KEPT:
            forget_one(self._states, lambda kept: kept.is_idle(now_ns))
        level = "token" if owner == key.key_id else "organisation"
        state = LimiterState(owner, key.workspace_id, level, self._counters)
        self._states[owner] = state
        return state

    def _try_count(
        self, states: Sequence[LimiterState], lease: Lease, now_ns: int
    ) -> Sequence[LimiterState]:
        """Count a request in each state; return those of which it is not known at once that it may
        pass. What was counted is the lease's."""
        for index, state in enumerate(states):
            if state.rate is None:
                continue
            if not state.rate.try_take(now_ns):
                return states[index:]
            lease.counted(state.rate)
        return ()

    async def _count(self, states: Sequence[LimiterState], model: str, lease: Lease) -> None:
        """Do the same for those, and wait for the answers. Raises RateLimited."""
        for state in states:
            if state.rate is None:
                continue
            if wait_ns := await state.rate.take(time.monotonic_ns()):
                raise rate_limited(state, state.rate, model, wait_ns)
            lease.counted(state.rate)

    async def _enter(
        self,
        shared: SharedLevels,
        states: tuple[LimiterState, LimiterState],
        model: str,
        lease: Lease,
        *,
        wants_slots: bool = True,
    ) -> None:
        """Ask about both states at once; the lease gets what was taken. Raises as acquire does."""
        may_queue = (self._may_queue(states[0]), self._may_queue(states[1]))
        entry = await shared.enter(states, may_queue, wants_slots=wants_slots)
        if entry.refused is not None:
            state = states[entry.refused]
            if entry.wait_ns and state.rate is not None:
                raise rate_limited(state, state.rate, model, entry.wait_ns)
            if state.concurrency is not None:
                raise concurrency_limited(state, state.concurrency, model, "and the queue is full")
        for state, has_slot in zip(states, entry.has_slot, strict=True):
            if state.rate is not None:
                lease.counted(state.rate)
            if has_slot and state.concurrency is not None:
                lease.acquired(state.concurrency)

    def _may_queue(self, state: LimiterState) -> bool:
        limiter = state.concurrency
        return limiter is None or (
            not self._is_closed and limiter.waiting < self._queue_limits.max_queue
        )

    async def _queue(
        self,
        state: LimiterState,
        limiter: ConcurrencyCounter,
        model: str,
        lease: Lease,
        hang_up: HangUp,
    ) -> None:
        """Wait in the queue of a state. Raises as acquire does."""
        if self._is_closed:
            raise ServerStopping
        if limiter.waiting >= self._queue_limits.max_queue:
            raise concurrency_limited(state, limiter, model, "and the queue is full")
        began_ns = time.perf_counter_ns()
        left_s = self._queue_limits.queue_s - lease.queued_us / 10**6
        self.queued += 1
        try:
            await limiter.acquire(left_s, hang_up)
        except TimeoutError:
            words = f"and none ended within {self._queue_limits.queue_s:g} s"
            raise concurrency_limited(state, limiter, model, words) from None
        finally:
            self.queued -= 1
            lease.queued_us += (time.perf_counter_ns() - began_ns) // NS_PER_US

    async def _hold(
        self, key_id: str, limits: SpendingLimits, hold_nusd: int, lease: Lease
    ) -> None:
        """Hold a part of what the key may spend. Raises as acquire does."""
        spending = self.spendings.get(key_id)
        if spending is None:
            if len(self.spendings) >= MAX_KEPT:
                forget_one(self.spendings, lambda kept: kept.is_idle)
            spending = self.spendings[key_id] = self._counters.spending(key_id)
        if not spending.try_hold(limits, hold_nusd):
            await spending.hold(limits, hold_nusd)
        lease.held(spending, limits, hold_nusd)


def forget_one(table: dict[str, Kept], is_idle: Callable[[Kept], bool]) -> None:
    """Forget the oldest of a few that have nothing to remember."""
    for name in list(islice(table, LOOKED_AT)):
        if is_idle(table[name]):
            del table[name]
            return
