"""Applies the limits of keys and their workspaces, and the rules of every level: requests, tokens
and costs in a period, concurrent requests, and what a key may spend.

Only calls that come under a limit are counted, by counters that are handed in
(gateway.admission.counter_protocols).
Used from one event loop; `Rates` may be read from any thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Protocol, TypeVar

from gateway.admission.counter_protocols import (
    Counters,
    HangUp,
    QueueFull,
    QueueLimits,
    RateCounter,
    ServerState,
    SharedLevels,
)
from gateway.admission.lease import Lease, take_rules
from gateway.admission.limit_rules import Plan, Reservation, Rules, RuleStates
from gateway.admission.limited_call import (
    NO_LIMITS,
    LimitedCall,
    MayQueue,
    Outlook,
    Wanted,
    wanted_of,
)
from gateway.admission.limiter_state import (
    LimiterState,
    Places,
    concurrency_limited,
    rate_limited,
)
from gateway.admission.rates import Rates
from gateway.core.errors import (
    ConcurrencyLimited,
    LimitExceeded,
    RateLimited,
    ServerStopping,
)
from gateway.core.fair_queue import Owner
from gateway.core.grant import Grant
from gateway.core.receipt import Receipt
from gateway.snapshot.types import CallLimits, KeyLimits, KeyRecord, SpendingLimits

NS_PER_US = 1_000
MAX_KEPT = 100_000
LOOKED_AT = 64


class Limiter(Protocol):
    """What admission asks of the limits."""

    @property
    def counters(self) -> Counters: ...

    def rates_of(self, key: KeyRecord, rules: Rules) -> Rates: ...

    async def ask(self, call: LimitedCall, *, wants_slots: bool) -> Outlook: ...

    async def acquire(self, call: LimitedCall, hang_up: HangUp) -> Lease: ...

    async def fall_back(self, lease: Lease, before: LimitedCall, call: LimitedCall) -> bool: ...


Kept = TypeVar("Kept")


class Limits:
    """Of one process. The counters are started before the first call and closed after the last."""

    def __init__(self, counters: Counters, queue_limits: QueueLimits | None = None) -> None:
        self.counters = counters
        self._levels = counters.levels
        self._queue_limits = queue_limits or QueueLimits()
        self._states: dict[str, LimiterState] = {}
        self._rules = RuleStates(counters, MAX_KEPT)
        self.spending = counters.spending()
        self._is_closed = False
        # Calls that wait in a queue.
        self.queued = 0

    def rates_of(self, key: KeyRecord, rules: Rules) -> Rates:
        """Return the limits that a caller with this key is under. rules: of the installation."""
        limits, plan = key.limits or NO_LIMITS, None
        counters: list[RateCounter] = []
        if not limits.are_rules:
            holders = self._follow(key, limits, time.monotonic_ns())
            counters = [holder.rate for holder in holders if holder.rate is not None]
        if rules or limits.rules:
            plan = self._rules.plan(rules, limits.rules)
            if not plan.is_for_all:
                plan = plan.for_any_model()
        return Rates(counters, plan, self.counters.now_us)

    async def ask(self, call: LimitedCall, *, wants_slots: bool) -> Outlook:
        """Return what acquire would come to now; nothing is taken.

        wants_slots: limits on concurrent requests count. Raises KeyLimitExceeded,
        DatabaseUnavailable.
        """
        limits = call.key.limits or NO_LIMITS
        if limits.of_spending is not None:
            lease = Lease(counters=self.counters)
            await self._hold(limits.of_spending, call.amounts.cost_nusd, lease)
            lease.withdraw()
        wanted = self._wants(call, limits, wants_slots=wants_slots)
        if self._levels is None or wanted.is_nothing:
            now_ns, now_us = time.monotonic_ns(), self._rules.now_us()
            entry = wanted.entry_now(now_ns, now_us, self._may_queue(call))
        else:
            slots = wanted.slots_for(self._may_queue(call))
            entry = await self._levels.enter(wanted.counters(), slots, only_asks=True)
        return Outlook(call.model, wanted, entry, self._rules.now_us())

    async def acquire(self, call: LimitedCall, hang_up: HangUp) -> Lease:
        """Admit a call once it has its slots. The lease must be ended, however the call ends.

        Raises KeyLimitExceeded, then RateLimited and LimitExceeded, then ConcurrencyLimited;
        CallerLeft when hang_up returns while it waits; DatabaseUnavailable, ServerStopping.
        """
        limits = call.key.limits or NO_LIMITS
        if self._levels is None and limits.are_rules:
            plan = self._rules.plan(call.rules, limits.rules)
            if not plan.is_for_all:
                plan = plan.for_model(call.model)
            show_in_rates(call, plan)
            # Most calls come in at once; what refuses the others is found below.
            if (taken := take_rules(plan, call.amounts, self.counters)) is not None:
                return taken
        lease = Lease(counters=self.counters)
        try:
            if limits.of_spending is not None:
                await self._hold(limits.of_spending, call.amounts.cost_nusd, lease)
            wanted = self._wants(call, limits)
            await self._count(call, wanted, lease)
            # The key's own first: a call that waits there takes no slot from other keys.
            for holder, limiter in reversed(wanted.slots):
                if self._levels is not None and lease.has(limiter):
                    continue
                if not limiter.try_acquire():
                    await self._queue(call, Places(holder, limiter), lease, hang_up)
                lease.acquired(limiter)
        except BaseException:
            lease.withdraw()
            raise
        return lease

    async def fall_back(self, lease: Lease, before: LimitedCall, call: LimitedCall) -> bool:
        """Have an admitted call come under the rules of a model that it falls back to, and no more
        under those for the model before it alone. Returns False when one of them refuses, or has no
        free slot: nothing has changed then."""
        plan = self._plan_for(call)
        had, wanted = self._plan_for(before).every(), plan.every()
        more = Lease(counters=self.counters)
        try:
            taken = wanted_of(call, [one for one in wanted if one not in had], wants_slots=True)
            await self._count(call, taken, more)
            for holder, limiter in taken.slots:
                if more.has(limiter):
                    continue
                if not limiter.try_acquire():
                    raise concurrency_limited(holder, limiter, call.model, "and none is free")
                more.acquired(limiter)
        except BaseException as error:
            more.withdraw()
            if isinstance(error, (RateLimited, LimitExceeded, ConcurrencyLimited)):
                return False
            raise
        lease.exchange([one for one in had if one not in wanted], more)
        show_in_rates(call, plan)
        return True

    def charged(self, grant: Grant, receipt: Receipt, record: int) -> None:
        """Count what a call has used. record: see SpendingCounter.charge."""
        if self.spending.is_counting:
            identity = grant.identity
            owners = (identity.workspace_id, grant.member, identity.key_id)
            self.spending.charge(owners, receipt.charge_nusd, identity.at, record)
        if grant.lease is not None:
            grant.lease.settle(receipt)

    def follow(self, key: KeyRecord) -> None:
        """Apply changed limits to the calls in the queues."""
        if key.limits is not None:
            self._follow(key, key.limits, time.monotonic_ns())
            self._rules.plan((), key.limits.rules)
            return
        for name in (key.workspace_id, key.key_id):
            if name in self._states:
                self._states[name].follow(CallLimits(), time.monotonic_ns())

    def has_queue(self, name: str) -> bool:
        """True when calls of the key or workspace wait in a queue."""
        state = self._states.get(name)
        return state is not None and state.concurrency is not None and state.concurrency.waiting > 0

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
        self._rules.reject_waiting(ServerStopping)

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
        # Records are not changed, so most calls bring the very limits of the call before.
        if workspace.limits is not limits.of_workspace:
            workspace.follow(limits.of_workspace, now_ns)
        if own.limits is not limits.of_key:
            own.follow(limits.of_key, now_ns)
        return workspace, own

    def _keep_state(self, owner: str, key: KeyRecord, now_ns: int) -> LimiterState:
        if len(self._states) >= MAX_KEPT:
            forget_one(self._states, lambda kept: kept.is_idle(now_ns))
        level = "token" if owner == key.key_id else "organisation"
        state = LimiterState(owner, key.workspace_id, level, self.counters)
        self._states[owner] = state
        return state

    def _plan_for(self, call: LimitedCall) -> Plan:
        """Return the rules that the call comes under."""
        return self._rules.plan(call.rules, call.key.rules).for_model(call.model)

    def _wants(self, call: LimitedCall, limits: KeyLimits, *, wants_slots: bool = True) -> Wanted:
        """Return what the call wants of each limit that it comes under."""
        workspace, own = self._follow(call.key, limits, time.monotonic_ns())
        if not (call.rules or limits.rules):
            return wanted_of(call, (workspace, own), wants_slots=wants_slots)
        plan = self._plan_for(call)
        show_in_rates(call, plan)
        return wanted_of(call, plan.around(workspace, own), wants_slots=wants_slots)

    async def _count(self, call: LimitedCall, wanted: Wanted, lease: Lease) -> None:
        """Count the call in each limit; the lease gets what was taken. Raises as acquire does."""
        model = call.model
        if self._levels is not None:
            await self._enter(self._levels, call, wanted, lease)
            return
        now_us = self.counters.now_us()
        for item in wanted.counted:
            if isinstance(item, Reservation):
                if not item.try_take(now_us):
                    raise item.refusal(model, now_us)
                lease.counted(item)
                continue
            holder, rate = item
            if not rate.try_take(time.monotonic_ns()) and (
                wait_ns := await rate.take(time.monotonic_ns())
            ):
                raise rate_limited(holder, rate, model, wait_ns)
            lease.counted(rate)

    async def _enter(
        self, shared: SharedLevels, call: LimitedCall, wanted: Wanted, lease: Lease
    ) -> None:
        """Ask about everything at once; the lease gets what was taken. Raises as acquire does."""
        if wanted.is_nothing:
            return
        counted, slots = wanted.counters(), wanted.slots_for(self._may_queue(call))
        entry = await shared.enter(counted, slots)
        if entry.refused is not None:
            raise wanted.refusal(call.model, entry.refused, entry.wait_ns, self._rules.now_us())
        for item in counted:
            lease.counted(item)
        for slot, has_slot in zip(slots, entry.has_slot, strict=True):
            if has_slot:
                lease.acquired(slot.counter)

    def _may_queue(self, call: LimitedCall) -> MayQueue:
        max_queue = self._queue_limits.max_queue
        return lambda limiter: (
            not self._is_closed
            and (limiter.waiting < max_queue or limiter.may_wait(owner_of(call), max_queue))
        )

    async def _queue(
        self, call: LimitedCall, wanted: Places, lease: Lease, hang_up: HangUp
    ) -> None:
        """Wait in the queue of a limit. Raises as acquire does."""
        if self._is_closed:
            raise ServerStopping
        holder, limiter = wanted
        queue_s = self._queue_limits.queue_s
        left = self._queue_limits._replace(queue_s=queue_s - lease.queued_us / 10**6)
        began_ns = time.perf_counter_ns()
        self.queued += 1
        try:
            await limiter.acquire(owner_of(call), left, hang_up)
        except QueueFull:
            words = "and the queue is full"
            raise concurrency_limited(holder, limiter, call.model, words) from None
        except TimeoutError:
            words = f"and none ended within {queue_s:g} s"
            raise concurrency_limited(holder, limiter, call.model, words) from None
        finally:
            self.queued -= 1
            lease.queued_us += (time.perf_counter_ns() - began_ns) // NS_PER_US

    async def _hold(self, budgets: Sequence[SpendingLimits], hold_nusd: int, lease: Lease) -> None:
        """Hold a part of what the key may spend. Raises as acquire does."""
        if not self.spending.try_hold(budgets, hold_nusd):
            await self.spending.hold(budgets, hold_nusd)
        lease.held(self.spending, budgets, hold_nusd)


def show_in_rates(call: LimitedCall, plan: Plan) -> None:
    """Have the head of the answer tell of these rules."""
    if isinstance(call.rates, Rates):
        call.rates.plan = plan


def owner_of(call: LimitedCall) -> Owner:
    return Owner(call.key.workspace_id, call.key.key_id)


def forget_one(table: dict[str, Kept], is_idle: Callable[[Kept], bool]) -> None:
    """Forget the oldest of a few that have nothing to remember."""
    for name in list(islice(table, LOOKED_AT)):
        if is_idle(table[name]):
            del table[name]
            return
