"""What one call has taken of its limits, until it is over."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Sequence

from msgspec import Struct, field

from gateway.admission.counter_protocols import (
    ConcurrencyCounter,
    Counters,
    RateCounter,
    SpendingCounter,
)
from gateway.admission.limit_rules import (
    NOTHING,
    REQUEST,
    Amounts,
    Plan,
    Reservation,
    RuleState,
    corrections_of,
    reserve_all,
    used_by,
)
from gateway.admission.limited_call import LimitedCall
from gateway.admission.rule_counters import RuleCounter
from gateway.core.receipt import Receipt
from gateway.snapshot.types import SpendingLimits

# Counts a call as one for another model: of the first call, as the second. Returns False when a
# rule refuses it.
FallBack = Callable[["Lease", LimitedCall, LimitedCall], Awaitable[bool]]


class TakenRules(Struct, eq=False, gc=False):
    """What a call has reserved of all its rules at once, in one object: its parts are wanted by few
    calls. most: how much of each rule, in the order of plan.counted. at_us: when that was."""

    plan: Plan
    most: tuple[int, ...]
    at_us: int

    def reservations(self) -> list[Reservation]:
        return [
            Reservation(state, counter, amount, self.at_us)
            for (state, counter), amount in zip(self.plan.counting, self.most, strict=False)
        ]

    def settle(self, used: Amounts, now_us: int) -> None:
        """Count what was used instead."""
        plan, most = self.plan, self.most
        # After the clock was set back, each counter is asked.
        at_us = self.at_us if self.at_us <= now_us else -1
        for (current, counter), amount, used_amount in zip(
            plan.counted, most, plan.find_amounts(used), strict=False
        ):
            if amount != used_amount:
                # As CurrentPart.correct.
                total = current.total - amount + used_amount
                if current.since <= at_us and now_us < current.until and total >= current.settled:
                    current.total = total
                else:
                    counter.correct(used_amount - amount, self.at_us, now_us)


class Lease(Struct, eq=False, kw_only=True):
    """queued_us: how long the call waited in queues."""

    counters: Counters
    queued_us: int = 0
    # What is not in _reserved yet.
    _taken: TakenRules | None = None
    # Of each rule that counts the call.
    _reserved: list[Reservation] = field(default_factory=list)
    # A rule may have been reserved more than once.
    _has_grown: bool = False
    _rates: list[RateCounter] = field(default_factory=list)
    _acquired: list[ConcurrencyCounter] = field(default_factory=list)
    _spending: SpendingCounter | None = None
    _budgets: Sequence[SpendingLimits] = ()
    _hold_nusd: int = 0
    _fall_back: FallBack | None = None
    # The call as it is now, and as the models get it that it may fall back to.
    _fallbacks: tuple[LimitedCall, dict[str, LimitedCall]] | None = None

    def may_fall_back(
        self, fall_back: FallBack, call: LimitedCall, others: Iterable[LimitedCall]
    ) -> None:
        """others: the call as models get it that may serve instead."""
        self._fall_back = fall_back
        self._fallbacks = call, {other.model: other for other in others}

    async def fall_back(self, model: str) -> bool:
        """As gateway.core.grant.Lease."""
        if self._fall_back is None or self._fallbacks is None:
            return True
        call, others = self._fallbacks
        if not await self._fall_back(self, call, others[model]):
            return False
        self._fallbacks = others[model], others
        return True

    def held(
        self, spending: SpendingCounter, budgets: Sequence[SpendingLimits], hold_nusd: int
    ) -> None:
        self._spending, self._budgets, self._hold_nusd = spending, budgets, hold_nusd

    async def grow(self, nusd: int) -> None:
        """Hold so much more. Raises KeyLimitExceeded, DatabaseUnavailable."""
        spending = self._spending
        if spending is None:
            return
        if not spending.try_hold(self._budgets, nusd):
            await spending.hold(self._budgets, nusd)
        self._hold_nusd += nusd

    async def reserve(self, *, prompt_tokens: int, completion_tokens: int, cost_nusd: int) -> bool:
        """As gateway.core.grant.Lease."""
        most = Amounts(1, prompt_tokens, completion_tokens, cost_nusd)
        self._list_taken()
        lacking = {one.state: one.state.amount_of(most) for one in self._reserved}
        for one in self._reserved:
            lacking[one.state] -= one.amount
        more = [
            Reservation(state, state.counter, amount)
            for state, amount in lacking.items()
            if amount > 0 and state.counter is not None
        ]
        if more and not await reserve_all(self.counters, more):
            return False
        self._reserved += more
        self._has_grown = True
        return True

    def counted(self, counted: RateCounter | Reservation) -> None:
        if isinstance(counted, Reservation):
            self._reserved.append(counted)
        else:
            self._rates.append(counted)

    def acquired(self, limiter: ConcurrencyCounter) -> None:
        self._acquired.append(limiter)

    def has(self, limiter: ConcurrencyCounter) -> bool:
        return limiter in self._acquired

    def exchange(self, dropped: Sequence[RuleState], more: Lease) -> None:
        """The call comes under these rules no more, of which it has used nothing but the request;
        what `more` has taken is taken for it."""
        self._list_taken()
        gone = [one for one in self._reserved if one.state in dropped]
        self._reserved = [one for one in self._reserved if one not in gone] + more._reserved
        self._correct(gone, REQUEST)
        for state in dropped:
            if state.concurrency in self._acquired:
                self._acquired.remove(state.concurrency)
                state.concurrency.release()
        self._acquired += more._acquired

    def settle(self, receipt: Receipt) -> None:
        """End the hold, and count what was used instead of what was reserved."""
        if self._spending is not None:
            self._release()
        if (taken := self._taken) is not None:
            self._taken = None
            taken.settle(used_by(receipt), self.counters.now_us())
            return
        reserved, self._reserved = self._reserved, []
        if reserved:
            self._correct(reserved, used_by(receipt))

    def end(self) -> None:
        """Give everything back but the request, which was made, and what is reserved: that is
        corrected when it is known what was used. Again it does nothing."""
        if self._spending is not None:
            self._release()
        while self._acquired:
            self._acquired.pop().release()

    def withdraw(self) -> None:
        """Give everything back: the call was not let in after all."""
        now_ns = time.monotonic_ns()
        self._list_taken()
        while self._rates:
            self._rates.pop().give_back(now_ns)
        reserved, self._reserved = self._reserved, []
        self._correct(reserved, NOTHING)
        self.end()

    def _release(self) -> None:
        if self._spending is not None:
            self._spending.release(self._budgets, self._hold_nusd)
            self._spending = None

    def _list_taken(self) -> None:
        if self._taken is not None:
            self._reserved = self._taken.reservations()
            self._taken = None

    def _correct(self, reserved: Sequence[Reservation], used: Amounts) -> None:
        if corrections := corrections_of(reserved, used, has_grown=self._has_grown):
            self.counters.correct(corrections)


def take_rules(plan: Plan, amounts: Amounts, counters: Counters) -> Lease | None:
    """Take what a call wants of its rules if nothing has to be waited for; else take nothing.
    counters: in this process's memory."""
    now_us, most = counters.now_us(), plan.find_amounts(amounts)
    for (current, counter), amount in zip(plan.counted, most, strict=False):
        if now_us < current.until and now_us >= current.since:
            total = current.total + amount
            if total <= current.limit:
                current.total = total
                continue
        elif counter.add(amount, now_us, current.limit):
            continue
        give_back(plan, most, now_us, refused=counter)
        return None
    lease = Lease(counters=counters, _taken=TakenRules(plan, most, now_us))
    for _, limiter in reversed(plan.slots):
        if not limiter.try_acquire():
            lease.withdraw()
            return None
        lease.acquired(limiter)
    return lease


def give_back(plan: Plan, most: Sequence[int], now_us: int, *, refused: RuleCounter) -> None:
    """Undo what was counted just now for the rules before one that refuses."""
    for (_, counter), amount in zip(plan.counted, most, strict=False):
        if counter is refused:
            return
        counter.correct(-amount, now_us, now_us)
