"""This process's part of one budget, in memory. Amounts are nano-USD."""

from __future__ import annotations

import time
from typing import NamedTuple

from gateway.core.budget_owner import BudgetOwner
from gateway.snapshot.types import SpendingLimits
from gateway.stores.budget_client import Allotted
from gateway.stores.purse import Purse


class Refused(NamedTuple):
    """What the database said at a moment, believed until another: no call can have so much."""

    limits: SpendingLimits
    want_nusd: int
    allotted: Allotted
    at: float
    until: float


class Share(Purse):
    """What a charge takes beyond its hold is missing from now on."""

    __slots__ = ("drawn_under", "falls_at", "owner", "recalled_until", "refused")

    def __init__(self, owner: BudgetOwner) -> None:
        super().__init__()
        self.owner = owner
        # None: the database has to be asked first.
        self.drawn_under: SpendingLimits | None = None
        # When a raise of these ends, and the database has to be asked again; 0.0: there is none.
        self.falls_at = 0.0
        self.recalled_until = 0.0
        self.refused: Refused | None = None

    @property
    def is_empty(self) -> bool:
        return not (self.balance_nusd or self.held_nusd)  # a call may hold twice and end once

    def covers(self, limits: SpendingLimits, want_nusd: int) -> bool:
        """True when a call may have this much at once."""
        known = self.drawn_under
        if known is not limits and known != limits:
            return False
        if self.falls_at and time.time() >= self.falls_at:
            return False
        return self.balance_nusd - self.held_nusd >= want_nusd

    def charge(self, charge_nusd: int) -> None:
        self.balance_nusd -= charge_nusd
        self._spent_nusd += charge_nusd

    def end_hold(self, hold_nusd: int) -> None:
        self.held_nusd -= hold_nusd
        self.holds -= 1
        self.refused = None

    def refuse(self, refused: Refused) -> None:
        self.refused = refused

    def known_refusal(self, limits: SpendingLimits, want_nusd: int, now: float) -> Refused | None:
        """Return what the database said when it had less than this."""
        known = self.refused
        if known is None or limits != known.limits or want_nusd < known.want_nusd:
            return None
        return known if now < known.until else None
