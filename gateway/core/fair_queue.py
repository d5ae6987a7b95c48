"""A queue in which groups take turns, and the owners in each group: workspaces and their keys, say.

However much of one owner waits, what comes of another waits for one turn and not for all of them.
What is one owner's is served in the order it came. For one event loop.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator
from itertools import count
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


class Owner(NamedTuple):
    """Whose something is. name: within its group."""

    group: str
    name: str


class Turns:
    """Names that wait for their turn, which each has once in a round.

    A name that comes new has its turn in the round that runs, unless it already had one in it: so
    who comes now and then is served before those that always wait, and leaving and coming again
    gains nothing.
    """

    __slots__ = ("_arrivals", "_had_turn", "_order", "_round")

    def __init__(self) -> None:
        self._round = 0
        self._arrivals = count()
        # A heap: the round of the next turn, the order of those of one round, and the name.
        self._order: list[tuple[int, int, str]] = []
        self._had_turn: set[str] = set()

    def join(self, name: str) -> None:
        """Wait from now on. For a name that does not wait."""
        turn = self._round + (name in self._had_turn)
        heapq.heappush(self._order, (turn, next(self._arrivals), name))

    def first(self) -> str:
        """Return whose turn is next."""
        return self._order[0][2]

    def end_turn(self, *, waits_on: bool) -> None:
        """The first has had its turn. waits_on: it waits for another."""
        turn, _, name = self._order[0]
        if turn > self._round:
            self._round = turn
            self._had_turn.clear()
        self._had_turn.add(name)
        if waits_on:
            heapq.heapreplace(self._order, (turn + 1, next(self._arrivals), name))
        else:
            heapq.heappop(self._order)
        self._forget()

    def leave(self, name: str) -> None:
        """Wait no longer."""
        self._order = [entry for entry in self._order if entry[2] != name]
        heapq.heapify(self._order)
        self._forget()

    def _forget(self) -> None:
        if not self._order:
            self._had_turn.clear()


class Group(Generic[T]):
    """What waits of one group."""

    __slots__ = ("_length", "_turns", "_waiting")

    def __init__(self) -> None:
        self._turns = Turns()
        self._waiting: dict[str, deque[T]] = {}
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[T]:
        for items in self._waiting.values():
            yield from items

    def append(self, name: str, item: T) -> None:
        items = self._waiting.get(name)
        if items is None:
            items = self._waiting[name] = deque()
            self._turns.join(name)
        items.append(item)
        self._length += 1

    def first(self) -> T:
        return self._waiting[self._turns.first()][0]

    def popleft(self) -> T:
        name = self._turns.first()
        items = self._waiting[name]
        item = items.popleft()
        self._length -= 1
        self._turns.end_turn(waits_on=bool(items))
        if not items:
            del self._waiting[name]
        return item

    def remove(self, name: str, item: T) -> None:
        items = self._waiting.get(name)
        if items is None or item not in items:
            return
        items.remove(item)
        self._length -= 1
        if not items:
            del self._waiting[name]
            self._turns.leave(name)

    def waiting_of(self, name: str) -> int:
        return len(self._waiting.get(name, ()))

    def largest(self) -> str:
        """Return the name of which most waits."""
        return max(self._waiting, key=self.waiting_of)

    def newest(self, name: str) -> T:
        return self._waiting[name][-1]


class FairQueue(Generic[T]):
    """What waits, each item its owner's. length: how much, for whoever asks very often."""

    __slots__ = ("_groups", "_turns", "length")

    def __init__(self) -> None:
        self._turns = Turns()
        self._groups: dict[str, Group[T]] = {}
        self.length = 0

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[T]:
        for group in self._groups.values():
            yield from group

    def append(self, owner: Owner, item: T) -> None:
        group = self._groups.get(owner.group)
        if group is None:
            group = self._groups[owner.group] = Group()
            self._turns.join(owner.group)
        group.append(owner.name, item)
        self.length += 1

    def first(self) -> T:
        """Return what is next."""
        return self._groups[self._turns.first()].first()

    def popleft(self) -> T:
        """Take what is next: its owner and its group have had their turns."""
        name = self._turns.first()
        group = self._groups[name]
        item = group.popleft()
        self.length -= 1
        self._turns.end_turn(waits_on=bool(group))
        if not group:
            del self._groups[name]
        return item

    def remove(self, owner: Owner, item: T) -> None:
        """Let it wait no longer, if it still does; nobody has had a turn."""
        group = self._groups.get(owner.group)
        if group is None:
            return
        before = len(group)
        group.remove(owner.name, item)
        self.length -= before - len(group)
        if not group:
            del self._groups[owner.group]
            self._turns.leave(owner.group)

    def find_larger(self, owner: Owner) -> tuple[Owner, T] | None:
        """Return the newest item, and its owner, of whoever has more waiting than this owner would
        with one more: in another group, else in its own. None if nobody has."""
        if not self._groups:
            return None
        own = self._groups.get(owner.group)
        largest_name = max(self._groups, key=lambda name: len(self._groups[name]))
        largest = self._groups[largest_name]
        if len(largest) <= (0 if own is None else len(own)) + 1:
            if own is None:
                return None
            largest_name, largest = owner.group, own
        name = largest.largest()
        if largest is own and largest.waiting_of(name) <= own.waiting_of(owner.name) + 1:
            return None
        return Owner(largest_name, name), largest.newest(name)
