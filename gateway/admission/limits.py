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

from gateway.admission.buckets import Bucket
from gateway.admission.gates import Gate, Rates, too_many, too_often
from gateway.admission.slots import HangUp, Slots
from gateway.admission.spending import Spending
from gateway.core.errors import ServerStopping
from gateway.core.grant import Grant
from gateway.core.spent import Reading
from gateway.snapshot.types import CallLimits, KeyLimits, KeyRecord, SpendingLimits

NS_PER_US = 1_000
MAX_KEPT = 100_000
LOOKED_AT = 64


class Patience(NamedTuple):
    """How long a call waits for its turn, in seconds, and how many may wait in one line."""

    queue_s: float = 30.0
    max_queue: int = 100


class Lease:
    """What one call has taken of its limits. queued_us: how long it waited for its turn."""

    __slots__ = ("_buckets", "_hold_nusd", "_slots", "_spending", "queued_us")

    def __init__(self) -> None:
        self.queued_us = 0
        self._buckets: tuple[Bucket, ...] = ()
        self._slots: list[Slots] = []
        self._spending: Spending | None = None
        self._hold_nusd = 0

    def hold(self, spending: Spending, hold_nusd: int) -> None:
        self._spending, self._hold_nusd = spending, hold_nusd

    def count(self, buckets: tuple[Bucket, ...], now_ns: int) -> None:
        self._buckets = buckets
        for bucket in buckets:
            bucket.take(now_ns)

    def place(self, slots: Slots) -> None:
        self._slots.append(slots)

    def settle(self) -> None:
        """End the hold: what the call has cost is known."""
        if self._spending is not None:
            self._spending.release(self._hold_nusd)
            self._spending = None

    def end(self) -> None:
        """Give everything back but the request, which was made. Again it does nothing."""
        self.settle()
        while self._slots:
            self._slots.pop().give_back()

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
        patience: Patience | None = None,
    ) -> None:
        self._read_spent = read_spent
        self._patience = patience or Patience()
        self._gates: dict[str, Gate] = {}
        self.spendings: dict[str, Spending] = {}
        self._readings: dict[str, asyncio.Task[None]] = {}
        self._doubts = 0
        self._is_closed = False

    def rates_of(self, key: KeyRecord, limits: KeyLimits) -> Rates | None:
        """Return the limits on requests that a caller with this key is under, if any."""
        gates = self._follow(key, limits, time.monotonic_ns())
        buckets = [gate.bucket for gate in gates if gate.bucket is not None]
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
        """Let a call in, in its turn. The lease has to be ended, whatever becomes of the call.

        hold_nusd: what it may cost at most. Raises KeyLimitExceeded, then RateLimited, then
        ConcurrencyLimited; CallerLeft when hang_up returns while it waits; DatabaseUnavailable,
        ServerStopping.
        """
        lease = Lease()
        try:
            if limits.of_spending is not None:
                await self._hold(key.key_id, limits.of_spending, hold_nusd, lease)
            gates = self._follow(key, limits, time.monotonic_ns())
            self._count(gates, model, lease)
            # The key's own first: who waits there keeps no place from the workspace's other keys.
            for gate in reversed(gates):
                slots = gate.slots
                if slots is None:
                    continue
                if not slots.try_take():
                    await self._queue(gate, slots, model, lease, hang_up)
                lease.place(slots)
        except BaseException:
            lease.withdraw()
            raise
        return lease

    def charged(self, grant: Grant, charge_nusd: int, record: int) -> None:
        """Count what a call has cost. record: see Spending.charge."""
        spending = self.spendings.get(grant.key_id)
        if spending is not None:
            spending.charge(charge_nusd, grant.admitted_at, record)
        if grant.lease is not None:
            grant.lease.settle()

    def follow(self, key: KeyRecord) -> None:
        """Let those who wait for their turn have what changed limits leave."""
        if key.limits is not None:
            self._follow(key, key.limits, time.monotonic_ns())
            return
        for name in (key.workspace_id, key.key_id):
            if name in self._gates:
                self._gates[name].follow(CallLimits(), time.monotonic_ns())

    def has_line(self, name: str) -> bool:
        """True when calls of the key or workspace wait for their turn."""
        gate = self._gates.get(name)
        return gate is not None and gate.slots is not None and gate.slots.waiting > 0

    def doubt_spending(self) -> None:
        """Read the book again before the next call of every key whose spending is counted."""
        self._doubts += 1
        for spending in self.spendings.values():
            spending.doubt()

    def close(self) -> None:
        """Send away everybody who waits, and let nobody wait any more."""
        self._is_closed = True
        for gate in self._gates.values():
            if gate.slots is not None:
                gate.slots.dismiss(ServerStopping)

    def _follow(self, key: KeyRecord, limits: KeyLimits, now_ns: int) -> tuple[Gate, Gate]:
        """Return the gates of the workspace and of the key, in the order of their levels."""
        workspace = self._gates.get(key.workspace_id)
        if workspace is None:
            workspace = self._keep_gate(key.workspace_id, Gate("organisation"), now_ns)
        own = self._gates.get(key.key_id)
        if own is None:
            own = self._keep_gate(key.key_id, Gate("token"), now_ns)
        workspace.follow(limits.of_workspace, now_ns)
        own.follow(limits.of_key, now_ns)
        return workspace, own

    def _keep_gate(self, name: str, gate: Gate, now_ns: int) -> Gate:
        if len(self._gates) >= MAX_KEPT:
            forget_one(self._gates, lambda kept: kept.is_idle(now_ns))
        self._gates[name] = gate
        return gate

    def _count(self, gates: Sequence[Gate], model: str, lease: Lease) -> None:
        """Count a request at every gate, or at none. Raises RateLimited."""
        now_ns = time.monotonic_ns()
        for gate in gates:
            if gate.bucket is not None and gate.bucket.wait_ns(now_ns):
                raise too_often(gate, gate.bucket, model, now_ns)
        lease.count(tuple(gate.bucket for gate in gates if gate.bucket is not None), now_ns)

    async def _queue(
        self, gate: Gate, slots: Slots, model: str, lease: Lease, hang_up: HangUp
    ) -> None:
        """Wait for a place at a gate. Raises as enter does."""
        if self._is_closed:
            raise ServerStopping
        if slots.waiting >= self._patience.max_queue:
            raise too_many(gate, slots, model, "and as many wait as may")
        began_ns = time.perf_counter_ns()
        left_s = self._patience.queue_s - lease.queued_us / 10**6
        try:
            await slots.take(left_s, hang_up)
        except TimeoutError:
            words = f"and none ended within {self._patience.queue_s:g} s"
            raise too_many(gate, slots, model, words) from None
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
