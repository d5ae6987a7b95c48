"""A call as its limits see it, and what it wants of each of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from msgspec import Struct

from gateway.admission.counter_protocols import ConcurrencyCounter, Entry, RateCounter, Slot
from gateway.admission.limit_rules import Amounts, Reservation, Rules, RuleState
from gateway.admission.limiter_state import (
    Holder,
    LimiterState,
    Places,
    concurrency_limited,
    rate_limited,
)
from gateway.core.errors import GatewayError
from gateway.core.rate_limit_status import Rates
from gateway.snapshot.types import CallLimits, KeyLimits, KeyRecord

MayQueue = Callable[[ConcurrencyCounter], bool]
NO_LIMITS = KeyLimits(CallLimits(), CallLimits(), None)


class LimitedCall(Struct, frozen=True, gc=False):
    """A call that comes under limits. rules: those of the installation and of its model. amounts:
    what it may use at most. rates: is told what rules the call comes under."""

    key: KeyRecord
    model: str
    amounts: Amounts
    rules: Rules = ()
    rates: Rates | None = None


class Rate(NamedTuple):
    """A limit on requests, and who is limited."""

    holder: Holder
    counter: RateCounter


class Wanted(Struct, frozen=True, gc=False):
    """What a call wants of its limits. counted: in the order in which they refuse. slots: the
    outermost first."""

    counted: list[Rate | Reservation]
    slots: list[Places]

    @property
    def is_nothing(self) -> bool:
        return not (self.counted or self.slots)

    def counters(self) -> list[RateCounter | Reservation]:
        return [item if isinstance(item, Reservation) else item.counter for item in self.counted]

    def slots_for(self, may_queue: MayQueue) -> list[Slot]:
        return [Slot(limiter, may_queue(limiter)) for _, limiter in self.slots]

    def entry_now(self, now_ns: int, now_us: int, may_queue: MayQueue) -> Entry:
        """Return what would come of the call now, as counters in memory say. Nothing is taken."""
        has_slot = [False] * len(self.slots)
        for index, item in enumerate(self.counted):
            if isinstance(item, Reservation):
                if not item.fits(now_us):
                    return Entry(index, 0, tuple(has_slot))
            elif wait_ns := item.counter.wait_ns(now_ns):
                return Entry(index, wait_ns, tuple(has_slot))
        for index in reversed(range(len(self.slots))):
            limiter = self.slots[index].counter
            if limiter.in_use < limiter.limit:
                has_slot[index] = True
            elif may_queue(limiter):
                break
            else:
                return Entry(len(self.counted) + index, 0, (False,) * len(has_slot))
        return Entry(None, 0, tuple(has_slot))

    def refusal(self, model: str, refused: int, wait_ns: int, now_us: int) -> GatewayError:
        """Return why the limit of this index refuses: those that count come before the slots."""
        if refused >= len(self.counted):
            holder, limiter = self.slots[refused - len(self.counted)]
            return concurrency_limited(holder, limiter, model, "and the queue is full")
        item = self.counted[refused]
        if isinstance(item, Reservation):
            return item.refusal(model, now_us)
        return rate_limited(item.holder, item.counter, model, wait_ns)


class Outlook(NamedTuple):
    """What would become of a call under its limits. entry: what came of asking."""

    model: str
    wanted: Wanted
    entry: Entry
    now_us: int

    @property
    def waits(self) -> bool:
        """True when the call would wait for a slot."""
        return self.entry.refused is None and not all(self.entry.has_slot)

    def refusal(self) -> GatewayError | None:
        """Return why the call would be refused, if it would be."""
        refused = self.entry.refused
        if refused is None:
            return None
        return self.wanted.refusal(self.model, refused, self.entry.wait_ns, self.now_us)


def wanted_of(
    call: LimitedCall, states: Sequence[LimiterState | RuleState], *, wants_slots: bool
) -> Wanted:
    """Return what a call wants of the limits that it comes under, in their order."""
    counted: list[Rate | Reservation] = []
    slots: list[Places] = []
    for state in states:
        if wants_slots and state.concurrency is not None:
            slots.append(Places(state, state.concurrency))
        if isinstance(state, LimiterState):
            if state.rate is not None:
                counted.append(Rate(state, state.rate))
        elif state.counter is not None:
            counted.append(Reservation(state, state.counter, state.amount_of(call.amounts)))
    return Wanted(counted, slots)
