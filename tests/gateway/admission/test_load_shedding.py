"""What is refused while the loop is late, on a loop that can carry so many calls a second."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from heapq import heappop, heappush
from random import Random
from statistics import median

import pytest

from gateway.admission.load_shedding import TICK_S, LoadShedder, equal_share
from gateway.core.errors import Overloaded

LAG_S = 0.05
CALLS_PER_S = 4_000
# So many callers at a time are as many calls as the loop can carry without being late.
CARRIED = int(CALLS_PER_S * (TICK_S + LAG_S))
# A refusal costs the loop this share of a call, and who is refused comes again after a while.
REFUSAL = 0.2
AWAY_S = 2.0


class Loop:
    """A loop with a clock of its own, which every call moves on. Each caller asks again when it has
    its answer."""

    def __init__(self) -> None:
        self.shedder = LoadShedder(LAG_S)
        self.served: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.now_s = self.lasted_s = 0.0
        self.lags_s: list[float] = []
        self._away: Counter[str] = Counter()
        self._back: list[tuple[float, str]] = []
        self._random = Random(7)

    def run(self, for_s: float, callers: Mapping[str, int]) -> None:
        """Let each key have so many callers for so long; count anew."""
        self.served.clear()
        self.refused.clear()
        self._away.clear()
        self._back.clear()
        self.lags_s.clear()
        began_s = self.now_s
        while self.now_s < began_s + for_s:
            self._tick(callers)
        self.lasted_s = self.now_s - began_s

    def _tick(self, callers: Mapping[str, int]) -> None:
        while self._back and self._back[0][0] <= self.now_s:
            self._away[heappop(self._back)[1]] -= 1
        work = sum(
            self._ask(key) for key, count in callers.items() for _ in range(count - self._away[key])
        )
        elapsed_s = max(TICK_S, work / CALLS_PER_S)
        self.now_s += elapsed_s
        self.lags_s.append(elapsed_s - TICK_S)
        self.shedder.record_tick(elapsed_s)

    def _ask(self, key: str) -> float:
        if self.shedder.is_active:
            try:
                self.shedder.check(key)
            except Overloaded:
                self.refused[key] += 1
                self._away[key] += 1
                heappush(self._back, (self.now_s + AWAY_S * self._random.uniform(0.5, 1.5), key))
                return REFUSAL
        self.served[key] += 1
        return 1.0


def test_what_can_be_carried_is_never_refused() -> None:
    loop = Loop()
    callers = {"a": CARRIED // 2, "b": CARRIED // 3}

    loop.run(30, callers)
    loop.shedder.record_tick(2.0)  # the loop was held up once, by whatever it was
    loop.run(30, callers)

    assert not loop.refused
    assert not loop.shedder.is_active


def test_three_times_what_can_be_carried_leaves_most_of_it_carried() -> None:
    loop = Loop()

    loop.run(10, {"a": 3 * CARRIED})
    loop.run(60, {"a": 3 * CARRIED})

    assert loop.refused["a"]
    assert loop.served["a"] > 0.85 * CALLS_PER_S * loop.lasted_s
    assert median(loop.lags_s) < 1.5 * LAG_S


@pytest.mark.parametrize("floods", [1, 5])
def test_a_key_below_its_share_is_not_refused_for_others(floods: int) -> None:
    loop = Loop()
    flood = {f"flood-{n}": 10 * CARRIED // floods for n in range(floods)}

    loop.run(60, {"victim": 10, "rare": 1} | flood)

    assert set(loop.refused) == set(flood)
    assert loop.served["victim"] >= 60


def test_it_ends_with_the_flood_and_comes_back_with_it() -> None:
    loop = Loop()
    calm, flood = {"a": CARRIED // 2}, {"a": CARRIED * 3}

    loop.run(10, flood)
    was_active = loop.shedder.is_active
    loop.run(10, calm)
    loop.run(10, calm)

    assert was_active
    assert not loop.refused
    assert not loop.shedder.is_active
    loop.run(10, flood)
    assert loop.refused["a"]


def test_few_calls_are_never_too_many() -> None:
    shedder = LoadShedder(LAG_S)

    for _ in range(200):
        for _ in range(10):
            shedder.check("a")
        shedder.record_tick(0.5)  # ten calls, while something else holds the loop up


def test_what_some_leave_is_for_others() -> None:
    assert equal_share([10, 10], 20) == 10
    assert equal_share([1, 100], 20) == 19
    assert equal_share([1, 2, 100, 200], 23) == 10
    assert equal_share([3, 4], 20) == 4 + 13
    assert equal_share([], 5) == 5


def test_a_loop_in_which_requests_wait_to_begin_is_late() -> None:
    shedder = LoadShedder(LAG_S)

    for _ in range(20):
        shedder.record_tick(TICK_S, LAG_S / 2)
    assert not shedder.is_active
    for _ in range(20):
        shedder.record_tick(TICK_S, LAG_S * 2)
    assert shedder.is_active
