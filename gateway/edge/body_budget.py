"""The memory that request bodies may take, all requests together, and who gets how much of it.

Small bodies are not counted. Of the others each byte counts once while it arrives, and COPIES times
once it is read: as text of the messages, and as what goes to the provider. An owner (a key, or an
address whose key is not known yet) may have at most SHARE times what it leaves free, so that some
is left for others however few want it. Where that is too little, the uploads of whoever has most
are given up first.
"""

from __future__ import annotations

from collections.abc import Callable

from gateway.core.overload import overloaded

MB = 1024 * 1024
COUNTED_BYTES = 16 * 1024
COPIES = 3
SHARE = 3
NO_ROOM = "No memory is free for the request body. Try again in a moment."


class BodyBudget:
    """Used from one event loop only. limit_bytes: as much as all bodies may take."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.used_bytes = 0
        self._owned: dict[str, int] = {}
        # Those that are still arriving, in the order in which they began.
        self._arriving: dict[BodyHold, None] = {}

    def open(self, owner: str, give_up: Callable[[], None]) -> BodyHold:
        """Return the share of one body, nothing in it yet. give_up: refuses its request."""
        hold = BodyHold(self, owner, give_up)
        self._arriving[hold] = None
        return hold

    def has_room(self, hold: BodyHold, size_bytes: int) -> bool:
        """True when a body can take so much more. One that is alone always can."""
        free_bytes = self.limit_bytes - self.used_bytes - size_bytes
        return self._would_own(hold, size_bytes) <= SHARE * free_bytes or (
            self.used_bytes == hold.size_bytes
        )

    def may_grow(self, hold: BodyHold, size_bytes: int) -> bool:
        """True when there is room for so much more, or somebody has more than its owner would."""
        return self.has_room(hold, size_bytes) or bool(self._find_largest(hold, size_bytes))

    def make_room(self, hold: BodyHold, size_bytes: int) -> bool:
        """Give up uploads of whoever has more than this body's owner would, until there is room for
        so much more. Returns whether there is."""
        while not self.has_room(hold, size_bytes):
            victim = self._find_largest(hold, size_bytes)
            if victim is None:
                return False
            victim.give_up()
        return True

    def _would_own(self, hold: BodyHold, size_bytes: int) -> int:
        return self._owned.get(hold.owner, 0) + size_bytes

    def _find_largest(self, hold: BodyHold, size_bytes: int) -> BodyHold | None:
        """Return the longest upload of whoever has most, if that is more than the owner of this
        body would have with so much more."""
        others = {other.owner for other in self._arriving if other.owner != hold.owner}
        if not others:
            return None
        largest = max(others, key=lambda owner: self._owned.get(owner, 0))
        if self._owned.get(largest, 0) <= self._would_own(hold, size_bytes):
            return None
        theirs = [other for other in self._arriving if other.owner == largest]
        return max(theirs, key=lambda other: other.size_bytes)

    def change(self, owner: str, size_bytes: int) -> None:
        """Count so much more, or less, for an owner."""
        self.used_bytes += size_bytes
        owned_bytes = self._owned.get(owner, 0) + size_bytes
        if owned_bytes:
            self._owned[owner] = owned_bytes
        else:
            self._owned.pop(owner, None)

    def forget(self, hold: BodyHold) -> None:
        self._arriving.pop(hold, None)


class BodyHold:
    """What one body takes of the budget, until it is closed. is_refused: there was no room."""

    __slots__ = ("_budget", "_give_up", "_is_closed", "is_refused", "owner", "size_bytes")

    def __init__(self, budget: BodyBudget, owner: str, give_up: Callable[[], None]) -> None:
        self.owner = owner
        self.size_bytes = 0
        self.is_refused = False
        self._is_closed = False
        self._budget = budget
        self._give_up: Callable[[], None] | None = give_up

    def grow(self, size_bytes: int) -> None:
        """Take so much more. Raises Overloaded where there is no room for it."""
        if self._is_closed:
            return
        if not self._budget.make_room(self, size_bytes):
            self.is_refused = True
            raise overloaded(NO_ROOM)
        self._budget.change(self.owner, size_bytes)
        self.size_bytes += size_bytes

    def shrink(self, size_bytes: int) -> None:
        """Give back so much of it."""
        if not self._is_closed:
            size_bytes = min(size_bytes, self.size_bytes)
            self._budget.change(self.owner, -size_bytes)
            self.size_bytes -= size_bytes

    def check(self, size_bytes: int) -> None:
        """Raise Overloaded where so much more would neither fit nor be made room for."""
        if not self._budget.may_grow(self, size_bytes):
            self.is_refused = True
            raise overloaded(NO_ROOM)

    def move_to(self, owner: str) -> None:
        """Count it for another owner: it is known now whose it is."""
        self._budget.change(self.owner, -self.size_bytes)
        self.owner = owner
        self._budget.change(owner, self.size_bytes)

    def read(self) -> None:
        """It has arrived and is being read: count what that makes of it. Raises Overloaded."""
        self.has_arrived()
        self.grow((COPIES - 1) * self.size_bytes)

    def give_up(self) -> None:
        """Refuse the request, for the sake of others."""
        self.is_refused = True
        give_up = self._give_up
        self.close()
        if give_up is not None:
            give_up()

    def close(self) -> None:
        """Give everything back; nothing is counted after that."""
        if not self._is_closed:
            self._is_closed = True
            self.has_arrived()
            self._budget.change(self.owner, -self.size_bytes)

    def has_arrived(self) -> None:
        """Nothing more of it comes: it is not given up for others any more."""
        self._give_up = None
        self._budget.forget(self)
