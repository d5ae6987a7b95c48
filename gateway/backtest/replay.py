"""Makes past calls again, in their order and at their times, under a set of rules.

They are counted by what counts calls (gateway.admission.limits) with counters in memory. Only the
clock is another one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol
from uuid import UUID

from gateway.admission.counter_protocols import QueueLimits
from gateway.admission.lease import Lease
from gateway.admission.limit_rules import CONCURRENT, Amounts, Rules
from gateway.admission.limited_call import LimitedCall
from gateway.admission.limits import Limits
from gateway.admission.memory_counters import MemoryCounters
from gateway.admission.request_caps import check_caps
from gateway.backtest.virtual_loop import VirtualLoop
from gateway.core.cost_bound import CostBound
from gateway.core.errors import DatabaseUnavailable, GatewayError
from gateway.core.money import PUSD_PER_NUSD, Price
from gateway.core.receipt import Receipt
from gateway.core.spent import Reading
from gateway.snapshot.types import KeyRecord, SpendingLimits

US_PER_S = 1_000_000
FREE = Price(input_pusd=0, cached_input_pusd=0, output_pusd=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PastCall:
    """A call as its record has it."""

    call_id: UUID
    # With the rules of its workspace, its member and its own.
    key: KeyRecord
    model: str
    # Of the installation and the model.
    rules: Rules
    # Microseconds since the epoch.
    at_us: int
    # How long it ran; None: it still does.
    runs_us: int | None
    # What it reserves.
    reserves: Amounts
    # What it used, as far as is known.
    used: Amounts
    # None for a call that has not ended, or was refused: nothing is corrected.
    receipt: Receipt | None
    # Calls that the record stands for.
    times: int


class Refusal(NamedTuple):
    """So many calls of a record would have been refused by a rule."""

    call: PastCall
    rule_id: str
    times: int


class Observer(Protocol):
    """Is told what becomes of calls."""

    def refused(self, refusal: Refusal) -> None: ...

    def queued(self, call: PastCall, waited_us: int) -> None:
        """The call has waited for a slot, and was admitted."""


class Replay:
    """Use from one thread. first_us: when the first call can be made."""

    def __init__(self, first_us: int, queue_limits: QueueLimits, observer: Observer) -> None:
        self._first_us = first_us
        self._observer = observer
        self._loop = VirtualLoop()
        self._limits = Limits(_TimedCounters(self._now_us), queue_limits)
        # Calls in queues.
        self._waiting: set[asyncio.Task[None]] = set()
        self._failure: BaseException | None = None

    def make(self, calls: Sequence[PastCall]) -> None:
        """Make the next calls; the earliest first."""
        self._loop.run_until_complete(self._make_all(calls))
        self._raise_failure()

    def close(self) -> None:
        """Have every call leave its queue, admitted or refused."""
        if self._waiting:
            self._loop.run_until_complete(asyncio.wait(self._waiting))
        self._loop.close()
        self._raise_failure()

    async def _make_all(self, calls: Sequence[PastCall]) -> None:
        for call in calls:
            ahead_us = call.at_us - self._now_us()
            if ahead_us > 0:
                await asyncio.sleep(ahead_us / US_PER_S)
            await self._make(call)

    async def _make(self, call: PastCall) -> None:
        """Make a call, and go on as soon as it is admitted, refused or in a queue."""
        making = self._admit(call)
        if not _may_queue(call):
            await making
            return
        task = asyncio.ensure_future(making)
        self._waiting.add(task)
        task.add_done_callback(self._left)
        # It begins: the next call comes after it.
        await asyncio.sleep(0)

    def _left(self, task: asyncio.Task[None]) -> None:
        self._waiting.discard(task)
        self._failure = self._failure or task.exception()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    async def _admit(self, call: PastCall) -> None:
        if not (call.rules or call.key.limits):
            return
        for left in range(call.times, 0, -1):
            try:
                _check_caps(call)
                lease = await self._acquire(call)
            except GatewayError as error:
                rule_id = str(error.details["rule_id"])
                # Those of one moment that want the same get the same.
                self._observer.refused(Refusal(call, rule_id, left))
                return
            if call.runs_us == 0:
                _end(lease, call.receipt)
            elif call.runs_us is not None:
                self._loop.call_later(call.runs_us / US_PER_S, _end, lease, call.receipt)

    async def _acquire(self, call: PastCall) -> Lease:
        begun_us = self._now_us()
        wanted = LimitedCall(call.key, call.model, call.reserves, call.rules)
        lease = await self._limits.acquire(wanted, _never)
        if waited_us := self._now_us() - begun_us:
            self._observer.queued(call, waited_us)
        return lease

    def _now_us(self) -> int:
        return self._first_us + round(self._loop.time() * US_PER_S)


class _TimedCounters(MemoryCounters):
    """Counters in memory that go by a clock of their own."""

    def __init__(self, now_us: Callable[[], int]) -> None:
        super().__init__(_no_budgets)
        self._now_us = now_us

    def now_us(self) -> int:
        return self._now_us()


def _may_queue(call: PastCall) -> bool:
    return any(rule.metric == CONCURRENT for rule in (*call.rules, *call.key.rules))


def _check_caps(call: PastCall) -> None:
    """Raise RequestError for a call that used more than a cap on one call allows."""
    caps = [rule for rule in (*call.rules, *call.key.rules) if rule.per_request]
    if not caps:
        return
    used = call.used
    bound = CostBound(
        price=FREE,
        prompt_pusd=used.cost_nusd * PUSD_PER_NUSD,
        token_pusd=0,
        limit_tokens=used.completion_tokens,
        asked_tokens=used.completion_tokens,
        prompt_tokens=used.prompt_tokens,
    )
    check_caps(caps, call.model, bound)


def _end(lease: Lease, receipt: Receipt | None) -> None:
    if receipt is not None:
        lease.settle(receipt)
    lease.end()


async def _never() -> None:
    """Nobody hangs up in a queue."""
    await asyncio.get_running_loop().create_future()


async def _no_budgets(limits: SpendingLimits) -> Reading:
    """No call that is replayed is under a budget."""
    raise DatabaseUnavailable
