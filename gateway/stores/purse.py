"""The arithmetic of a purse in memory. Pure: no clock, no thread, no database.

A purse is the part of a wallet that one process may spend without asking. It holds `balance_nusd`,
of which running calls hold `held_nusd`; what is left is free. The database's purse may hold more
than the balance, never less: charges leave the balance at once and the database with the next
batch.
"""

from __future__ import annotations


class Purse:
    """What this process may spend for one workspace, and how it has been spending."""

    __slots__ = (
        "_largest_nusd",
        "_largest_until_now_nusd",
        "_spent_nusd",
        "_spent_until_now_nusd",
        "balance_nusd",
        "held_nusd",
        "holds",
        "least_free_nusd",
        "refill_below_nusd",
    )

    def __init__(self) -> None:
        self.balance_nusd = 0
        self.held_nusd = 0
        self.holds = 0  # how many calls hold something
        self.least_free_nusd = 0  # the lowest free_nusd of this window
        self.refill_below_nusd = 0
        self._spent_nusd = 0
        self._spent_until_now_nusd = 0
        self._largest_nusd = 0
        self._largest_until_now_nusd = 0

    @property
    def free_nusd(self) -> int:
        return self.balance_nusd - self.held_nusd

    @property
    def is_empty(self) -> bool:
        """True when forgetting the purse forgets nothing."""
        return self.balance_nusd == 0 and self.holds == 0

    @property
    def target_nusd(self) -> int:
        """How much should be free: twice the last windows' spend or twice the largest hold."""
        spent_nusd = self._spent_nusd + self._spent_until_now_nusd
        largest_nusd = max(self._largest_nusd, self._largest_until_now_nusd)
        return 2 * max(spent_nusd, largest_nusd)

    def hold(self, amount_nusd: int) -> bool:
        """Set the amount aside for a call. False, and nothing happens, when too little is free."""
        free_nusd = self.balance_nusd - self.held_nusd - amount_nusd
        if free_nusd < 0:
            return False
        self.held_nusd += amount_nusd
        self.holds += 1
        if free_nusd < self.least_free_nusd:
            self.least_free_nusd = free_nusd
        if amount_nusd > self._largest_nusd:
            self._largest_nusd = amount_nusd
            self.refill_below_nusd = max(self.refill_below_nusd, amount_nusd)
        return True

    def release(self, hold_nusd: int, charge_nusd: int) -> int:
        """End a hold; what the call cost leaves the purse, beyond the hold as far as money is free.

        Returns what has left the purse.
        """
        self.held_nusd -= hold_nusd
        self.holds -= 1
        if charge_nusd > hold_nusd:
            charge_nusd = min(charge_nusd, max(hold_nusd, self.free_nusd))
        self.balance_nusd -= charge_nusd
        self._spent_nusd += charge_nusd
        if charge_nusd > hold_nusd:
            self.least_free_nusd = min(self.least_free_nusd, self.free_nusd)
        return charge_nusd

    def add(self, amount_nusd: int) -> None:
        """Count money that the database has moved into the purse (or, negative, out of it)."""
        self.balance_nusd += amount_nusd

    def take_free(self, amount_nusd: int) -> int:
        """Take up to so much of what is free out of the purse; return how much."""
        taken_nusd = max(0, min(amount_nusd, self.free_nusd))
        self.balance_nusd -= taken_nusd
        self.least_free_nusd = min(self.least_free_nusd, self.free_nusd)
        return taken_nusd

    def turn_window(self) -> int:
        """Begin a new window of time; return what is free and was not needed in the old one.

        Everything free, when no call has held anything in two windows. Otherwise what stayed
        free all along beyond twice the target, so that a steady load never draws in circles.
        """
        self._spent_until_now_nusd, self._spent_nusd = self._spent_nusd, 0
        self._largest_until_now_nusd, self._largest_nusd = self._largest_nusd, 0
        target_nusd = self.target_nusd
        unneeded_nusd = min(self.least_free_nusd, self.free_nusd)
        self.refill_below_nusd = target_nusd // 2
        self.least_free_nusd = self.free_nusd
        if target_nusd == 0:
            return self.free_nusd
        return unneeded_nusd - target_nusd if unneeded_nusd > 2 * target_nusd else 0
