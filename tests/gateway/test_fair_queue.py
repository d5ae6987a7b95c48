"""The queue in which groups and their owners take turns: workspaces and keys here."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from itertools import cycle, islice

from hypothesis import given
from hypothesis import strategies as st

from gateway.core.fair_queue import FairQueue, Owner, Turns

FLOOD = Owner("one", "flood")
KEY = Owner("one", "key")
OTHER = Owner("two", "key")
OWNERS = [Owner(workspace, key) for workspace in "abc" for key in "xyz"]


def served(queue: FairQueue[str], count: int = 1_000) -> list[str]:
    return [queue.popleft() for _ in range(min(count, len(queue)))]


def fill(queue: FairQueue[str], owner: Owner, count: int, name: str) -> None:
    for number in range(count):
        queue.append(owner, f"{name}{number}")


def test_owners_of_a_group_take_turns() -> None:
    queue: FairQueue[str] = FairQueue()
    fill(queue, FLOOD, 5, "f")
    fill(queue, KEY, 2, "k")

    assert served(queue) == ["f0", "k0", "f1", "k1", "f2", "f3", "f4"]


def test_groups_take_turns_however_many_owners_each_has() -> None:
    queue: FairQueue[str] = FairQueue()
    fill(queue, FLOOD, 3, "f")
    fill(queue, KEY, 3, "k")
    fill(queue, OTHER, 3, "o")

    assert served(queue) == ["f0", "o0", "k0", "o1", "f1", "o2", "k1", "f2", "k2"]


def test_who_comes_now_and_then_is_next() -> None:
    queue: FairQueue[str] = FairQueue()
    fill(queue, FLOOD, 9, "f")
    assert served(queue, 3) == ["f0", "f1", "f2"]

    queue.append(KEY, "k0")
    assert queue.first() == "k0"
    assert served(queue, 2) == ["k0", "f3"]
    queue.append(OTHER, "o0")

    assert served(queue, 2) == ["o0", "f4"]


def test_leaving_and_coming_again_gains_nothing() -> None:
    queue: FairQueue[str] = FairQueue()
    fill(queue, FLOOD, 9, "f")
    turns = []
    for _ in range(4):
        queue.append(KEY, "k")  # one at a time: the key has nothing in the queue between
        while (item := queue.popleft()) != "k":
            turns.append(item)
        turns.append(item)

    assert turns == ["f0", "k", "f1", "k", "f2", "k", "f3", "k"]


def test_the_newest_call_of_whoever_has_most_is_found() -> None:
    queue: FairQueue[str] = FairQueue()
    assert queue.find_larger(KEY) is None
    fill(queue, FLOOD, 4, "f")
    fill(queue, KEY, 1, "k")

    assert queue.find_larger(FLOOD) is None
    assert queue.find_larger(KEY) == (FLOOD, "f3")
    assert queue.find_larger(OTHER) == (FLOOD, "f3")  # of the workspace with most
    fill(queue, OTHER, 5, "o")
    assert queue.find_larger(OTHER) is None
    assert queue.find_larger(Owner("two", "another")) == (OTHER, "o4")
    assert queue.find_larger(KEY) == (FLOOD, "f3")  # one more and it has as many as the other
    fill(queue, OTHER, 3, "p")
    assert queue.find_larger(FLOOD) == (OTHER, "p2")


STEPS = st.lists(
    st.tuples(st.sampled_from(["append", "append", "pop", "remove"]), st.integers(0, 80)),
    max_size=150,
)


@given(STEPS)
def test_each_item_is_served_once_in_its_keys_order(steps: list[tuple[str, int]]) -> None:
    queue: FairQueue[int] = FairQueue()
    expected: dict[Owner, deque[int]] = defaultdict(deque)
    of_item: dict[int, Owner] = {}
    for number, (step, pick) in enumerate(steps):
        if step == "append":
            of_item[number] = owner = OWNERS[pick % len(OWNERS)]
            queue.append(owner, number)
            expected[owner].append(number)
        elif step == "pop" and queue:
            first = queue.first()
            assert first == queue.popleft() == expected[of_item[first]].popleft()
        elif step == "remove" and of_item:
            item = list(of_item)[pick % len(of_item)]
            queue.remove(of_item[item], item)  # also one that does not wait any more
            if item in expected[of_item[item]]:
                expected[of_item[item]].remove(item)
        assert len(queue) == sum(map(len, expected.values())) == len(list(queue))
        assert set(queue) == {item for items in expected.values() for item in items}


@given(STEPS, st.lists(st.sampled_from("abcdef"), max_size=60))
def test_nobody_has_two_turns_while_another_waits(
    steps: list[tuple[str, int]], names: list[str]
) -> None:
    """Whoever waits from one turn of another to its next but one has a turn between."""
    turns = Turns()
    waiting: Counter[str] = Counter()
    overtaken: dict[str, Counter[str]] = {}
    for (step, _), name in zip(steps, islice(cycle(names or "a"), len(steps)), strict=True):
        if step == "append":
            if not waiting[name]:
                turns.join(name)
                overtaken[name] = Counter()
            waiting[name] += 1
        elif step == "remove" and waiting[name]:
            del waiting[name]
            turns.leave(name)
        elif step == "pop" and +waiting:
            first = turns.first()
            waiting[first] -= 1
            turns.end_turn(waits_on=bool(waiting[first]))
            overtaken[first] = Counter()
            for other in +waiting:
                if other != first:
                    overtaken[other][first] += 1
                    assert overtaken[other][first] <= 1
