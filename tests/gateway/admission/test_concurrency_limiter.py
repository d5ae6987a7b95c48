"""The concurrency limiter and its queue, under every order of coming, leaving and being cut off."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.admission.concurrency_limiter import ConcurrencyLimiter
from gateway.admission.counter_protocols import QueueFull, QueueLimits
from gateway.core.errors import CallerLeft, ServerStopping
from gateway.core.fair_queue import Owner

LONG_S = 1_000.0
LONG = QueueLimits(LONG_S)
KEY, NEIGHBOUR = Owner("workspace", "key"), Owner("workspace", "neighbour")
# What happens to one of the calls there are, by its number.
STEPS = ("come", "come", "end", "cancel", "hang up", "cancel and end", "turn", "turn")


class Party:
    """Calls that come for a place, run and end, each told apart by when it came."""

    def __init__(self, most: int) -> None:
        self.limiter = ConcurrencyLimiter(most)
        self.began: list[int] = []
        self.running: dict[int, asyncio.Event] = {}
        self.tasks: dict[int, asyncio.Task[None]] = {}
        self.gone: dict[int, asyncio.Event] = {}
        self.coming = 0

    def come(self) -> None:
        number, self.coming = self.coming, self.coming + 1
        self.gone[number] = asyncio.Event()
        self.tasks[number] = asyncio.ensure_future(self._call(number))

    async def _call(self, number: int) -> None:
        async def wait_for_hang_up() -> None:
            await self.gone[number].wait()

        if not self.limiter.try_acquire():
            await self.limiter.acquire(KEY, LONG, wait_for_hang_up)
        self.began.append(number)
        self.running[number] = asyncio.Event()
        try:
            assert len(self.running) <= self.limiter.in_use
            await self.running[number].wait()
        finally:
            del self.running[number]
            self.limiter.release()

    def end(self, pick: int) -> None:
        if self.running:
            list(self.running.values())[pick % len(self.running)].set()

    def cancel(self, pick: int) -> None:
        alive = [task for task in self.tasks.values() if not task.done()]
        if alive:
            alive[pick % len(alive)].cancel()

    def hang_up(self, pick: int) -> None:
        self.gone[pick % self.coming].set()

    def do(self, step: str, pick: int) -> None:
        """Do it, or two things before anybody hears of either."""
        if step == "come" or not self.coming:
            self.come()
        for part in step.split(" and "):
            if part in ("end", "cancel", "hang up"):
                getattr(self, part.replace(" ", "_"))(pick)

    async def settle(self) -> None:
        for _ in range(6):
            await asyncio.sleep(0)


@given(
    most=st.integers(1, 4),
    steps=st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 50)), max_size=60),
    patient=st.booleans(),
)
def test_places_are_never_too_many_never_lost_and_given_in_order(
    most: int, steps: list[tuple[str, int]], patient: bool
) -> None:
    async def live() -> None:
        party = Party(most)
        for step, pick in steps:
            party.do(step, pick)
            if patient:
                await party.settle()
            elif step == "turn":
                await asyncio.sleep(0)
            assert party.limiter.in_use <= most
            assert len(party.running) <= most
        await party.settle()
        assert party.began == sorted(party.began)
        assert len(party.running) == party.limiter.in_use
        assert party.limiter.in_use == most or not party.limiter.waiting
        await come_to_rest(party)
        assert (party.limiter.in_use, party.limiter.waiting) == (0, 0)

    asyncio.run(live())


async def come_to_rest(party: Party) -> None:
    """End everybody; only the ways out that are meant may be taken."""
    for _ in range(10 * len(party.tasks)):
        for running in party.running.values():
            running.set()
        await asyncio.sleep(0)
    assert all(task.done() for task in party.tasks.values())
    for task in party.tasks.values():
        if not task.cancelled():
            assert task.exception() is None or isinstance(task.exception(), CallerLeft)


async def never() -> None:
    await asyncio.Event().wait()


async def outcome(
    limiter: ConcurrencyLimiter, act: Callable[[], Any], within_s: float = LONG_S
) -> Any:
    """Return what a call that waits gets when something happens."""
    waiting = asyncio.ensure_future(limiter.acquire(KEY, QueueLimits(within_s), never))
    await asyncio.sleep(0)
    assert limiter.waiting == 1
    act()
    [result] = await asyncio.gather(waiting, return_exceptions=True)
    assert limiter.waiting == 0
    return result


@pytest.mark.parametrize(
    ("act", "result", "taken"),
    [
        (lambda limiter: limiter.release(), type(None), 1),
        (lambda limiter: limiter.resize(2), type(None), 2),
        (lambda limiter: limiter.reject_waiting(ServerStopping), ServerStopping, 1),
    ],
    ids=["a slot becomes free", "there are more slots", "the queue is rejected"],
)
def test_who_waits_hears_of_it(
    act: Callable[[ConcurrencyLimiter], None], result: type, taken: int
) -> None:
    async def live() -> None:
        limiter = ConcurrencyLimiter(1)
        assert limiter.try_acquire()

        assert isinstance(await outcome(limiter, lambda: act(limiter)), result)

        assert limiter.in_use == taken

    asyncio.run(live())


def test_who_waits_for_too_long_is_told() -> None:
    async def live() -> None:
        limiter = ConcurrencyLimiter(1)
        assert limiter.try_acquire()

        assert isinstance(await outcome(limiter, lambda: None, within_s=0.001), TimeoutError)

        assert limiter.in_use == 1

    asyncio.run(live())


def test_a_place_given_to_somebody_just_cut_off_goes_to_the_next() -> None:
    async def live() -> None:
        limiter = ConcurrencyLimiter(1)
        assert limiter.try_acquire()
        cut_off, next_one = (
            asyncio.ensure_future(limiter.acquire(KEY, LONG, never)) for _ in range(2)
        )
        await asyncio.sleep(0)

        limiter.release()
        cut_off.cancel()

        await asyncio.wait_for(next_one, 15)
        assert cut_off.cancelled()
        assert (limiter.in_use, limiter.waiting) == (1, 0)

    asyncio.run(live())


def test_nobody_jumps_the_line() -> None:
    async def live() -> None:
        limiter = ConcurrencyLimiter(1)
        assert limiter.try_acquire()
        waiting = asyncio.ensure_future(limiter.acquire(KEY, LONG, never))
        await asyncio.sleep(0)

        limiter.release()

        assert not limiter.try_acquire()
        await waiting

    asyncio.run(live())


class Queued:
    """Calls of one slot, which is taken, in a queue of three."""

    def __init__(self) -> None:
        self.limiter = ConcurrencyLimiter(1)
        assert self.limiter.try_acquire()
        self.served: list[str] = []

    async def begin(self, owner: Owner, name: str) -> asyncio.Task[None]:
        task = asyncio.ensure_future(self._call(owner, name))
        await asyncio.sleep(0)
        return task

    async def _call(self, owner: Owner, name: str) -> None:
        await self.limiter.acquire(owner, QueueLimits(LONG_S, 3), never)
        self.served.append(name)
        self.limiter.release()


def test_a_key_with_fewer_calls_gets_the_place_of_one_with_more_in_a_full_queue() -> None:
    async def live() -> None:
        queued = Queued()
        own = [await queued.begin(KEY, f"key {n}") for n in range(3)]
        [first] = [await queued.begin(NEIGHBOUR, "neighbour 1")]
        # Now both have as much of the queue as the other would leave it.
        [second] = [await queued.begin(NEIGHBOUR, "neighbour 2")]

        queued.limiter.release()
        ended = await asyncio.gather(*own, first, second, return_exceptions=True)

        assert [type(error) for error in ended] == [
            *(type(None), type(None), QueueFull, type(None), QueueFull)
        ]
        assert queued.served == ["key 0", "neighbour 1", "key 1"]
        assert (queued.limiter.in_use, queued.limiter.waiting) == (0, 0)

    asyncio.run(live())


def test_whether_a_call_may_wait_depends_on_whose_it_is() -> None:
    async def live() -> None:
        queued = Queued()
        waiting = [await queued.begin(KEY, "") for _ in range(3)]

        assert not queued.limiter.may_wait(KEY, 3)
        assert queued.limiter.may_wait(NEIGHBOUR, 3)
        assert queued.limiter.may_wait(KEY, 4)
        assert not ConcurrencyLimiter(1).may_wait(KEY, 0)
        queued.limiter.reject_waiting(ServerStopping)
        await asyncio.gather(*waiting, return_exceptions=True)

    asyncio.run(live())
