"""What a counter of limits does, wherever it counts.

This process's memory keeps these protocols (gateway.admission.memory_counters). Counters that
several processes share keep them, too, and are one row in gateway.runtime.counter_backends.

Each counter has a `try_` method, which answers at once, and one to wait for. A counter that has to
ask another machine returns False from the first and does its work in the second; the counters in
memory are never waited for unless a limit is reached. Counters of another machine may also be asked
about all levels of a call at once (SharedLevels).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, Protocol

from gateway.admission.rule_counters import RuleCounter
from gateway.core.fair_queue import Owner
from gateway.core.spent import Reading
from gateway.snapshot.types import LimitRule, SpendingLimits

HangUp = Callable[[], Awaitable[None]]
# Reads what an owner has spent from the ledger, in the time zone of the limits. Raises
# DatabaseUnavailable.
ReadSpent = Callable[[SpendingLimits], Awaitable[Reading]]


class QueueLimits(NamedTuple):
    """How long a call may wait for a slot, in seconds, and how many calls may wait in one queue."""

    queue_s: float = 30.0
    max_queue: int = 100


class QueueFull(Exception):
    """There is no place in a queue for a call, or none any more."""


class RateCounter(Protocol):
    """Requests of one key or workspace. Moments are nanoseconds of time.monotonic_ns.

    remaining and full_in_ns are for the headers of answers: what was known last will do.
    """

    @property
    def per_minute(self) -> int: ...

    @property
    def burst(self) -> int: ...

    def try_take(self, now_ns: int) -> bool:
        """Count a request if it is known at once that it may pass."""

    async def take(self, now_ns: int) -> int:
        """Count a request if it may pass. Returns 0, or how long until one may."""

    def wait_ns(self, now_ns: int) -> int:
        """Return how long until a request may pass, as far as is known here; 0 when one may now."""

    def give_back(self, now_ns: int) -> None:
        """Take back a request that was counted and then not admitted."""

    def change(self, per_minute: int, burst: int, now_ns: int) -> None:
        """Apply other limits from now on; what was counted stays counted."""

    def remaining(self, now_ns: int) -> int:
        """Return how many requests may pass at once."""

    def full_in_ns(self, now_ns: int) -> int:
        """Return how long until `burst` requests may pass at once; 0 when they may now."""


class ConcurrencyCounter(Protocol):
    """Running calls of one key or workspace, and the queue of those that wait for a slot."""

    @property
    def limit(self) -> int: ...

    @property
    def in_use(self) -> int: ...

    @property
    def waiting(self) -> int: ...

    @property
    def is_idle(self) -> bool:
        """True when forgetting the counter forgets nothing."""

    def try_acquire(self) -> bool:
        """Take a slot if it is known at once that one is free."""

    def may_wait(self, owner: Owner, max_queue: int) -> bool:
        """True when there is room in the queue, or another key has more calls in it."""

    async def acquire(self, owner: Owner, limits: QueueLimits, wait_for_hang_up: HangUp) -> None:
        """Wait for a slot until it is the owner's turn, and take it.

        Raises QueueFull when no room can be made in the queue, or the place is given to a key with
        fewer calls in it; TimeoutError when none became free in time, CallerLeft as soon as
        wait_for_hang_up returns, and what `reject_waiting` was given. Safe to cancel.
        """

    def release(self) -> None:
        """Give a slot back."""

    def resize(self, limit: int) -> None:
        """Apply another limit from now on."""

    def reject_waiting(self, make_reason: Callable[[], Exception]) -> None:
        """Fail every call in the queue."""


class SpendingCounter(Protocol):
    """What all owners of budgets have spent, and what running calls hold. Amounts are nano-USD.

    budgets: those that a call is charged to, as in KeyLimits.of_spending. A call holds the same of
    each or nothing at all.
    """

    @property
    def is_counting(self) -> bool:
        """False while there is no budget that a charge would have to be told to."""

    def try_hold(self, budgets: Sequence[SpendingLimits], want_nusd: int) -> bool:
        """Hold what a call may cost if it is known at once what has been spent. Raises
        KeyLimitExceeded when a limit does not cover it."""

    async def hold(self, budgets: Sequence[SpendingLimits], want_nusd: int) -> None:
        """Find out what has been spent, then hold. Raises KeyLimitExceeded, DatabaseUnavailable."""

    def release(self, budgets: Sequence[SpendingLimits], hold_nusd: int) -> None:
        """End the hold of a call."""

    def charge(self, owners: Sequence[str], charge_nusd: int, at: float, record: int) -> None:
        """Count what a call has cost. owners: the ids of all that the call is charged to, with
        budgets or without. at: when it was admitted. record: the number of the record that says so,
        among this process's."""

    def invalidate(self, owner_id: str = "") -> None:
        """What has been spent must be read again: the ledger was replaced. owner_id: only what this
        owner has spent must be."""


class Reserved(Protocol):
    """What a call wants of one rule (gateway.admission.limit_rules). at_us: when it was counted, by
    the clock of the counters. weight: for how many it counts here, while the counters of several
    processes are away."""

    at_us: int
    weight: int

    @property
    def counter(self) -> RuleCounter: ...

    @property
    def amount(self) -> int: ...


# So much more, or less, than was reserved has been used.
Correction = tuple[Reserved, int]


class Slot(NamedTuple):
    """One limit on concurrent calls, and whether a call may wait for it."""

    counter: ConcurrencyCounter
    may_queue: bool


class Entry(NamedTuple):
    """What came of a request. refused: the index of what refuses it, first of those that count and
    then of the slots; None when it is counted. wait_ns: how long until a rate lets one pass.
    has_slot: for each slot, whether it was taken, or whether it is there."""

    refused: int | None
    wait_ns: int
    has_slot: tuple[bool, ...]


class ServerState(NamedTuple):
    """How the machine is that counts for several processes. since: when this began, in seconds
    since the epoch. outages: how often it was away. trouble: why it is."""

    is_up: bool
    since: float
    outages: int
    trouble: str


class SharedLevels(Protocol):
    """Asks about a call once: all that is counted for it, and its slots."""

    @property
    def state(self) -> ServerState: ...

    async def enter(
        self,
        counted: Sequence[RateCounter | Reserved],
        slots: Sequence[Slot],
        *,
        only_asks: bool = False,
    ) -> Entry:
        """Count a request everywhere and take its slots, or nothing at all.

        counted: in the order in which they refuse. slots: the outermost first. Where there is no
        slot and the call may queue for one, the request is counted and the slot is left to be
        acquired; the innermost comes first. Safe to cancel: nothing stays taken.
        only_asks: what would come of it now; nothing is counted or taken.
        """


class Counters(Protocol):
    """Makes the counters of keys, workspaces and rules, one for each, when they first have a limit.

    owner: the id of the key, the workspace or the rule. workspace_id: of the workspace it belongs
    to.
    """

    @property
    def levels(self) -> SharedLevels | None:
        """For counters that are asked about all levels at once; None for others."""

    async def start(self) -> None:
        """Begin, before the first call."""

    def rate(
        self, owner: str, per_minute: int, burst: int, *, workspace_id: str
    ) -> RateCounter: ...

    def concurrency(self, owner: str, limit: int, *, workspace_id: str) -> ConcurrencyCounter: ...

    def spending(self) -> SpendingCounter:
        """Return that of all owners; asked for once."""

    def rule(self, rule: LimitRule) -> RuleCounter: ...

    def now_us(self) -> int:
        """Return the moment by which rules are counted, in microseconds since the epoch."""

    def correct(self, corrections: Sequence[Correction]) -> None:
        """Count what calls have used instead of what they reserved. Nothing is waited for."""

    async def aclose(self) -> None:
        """The process stops: close connections."""
