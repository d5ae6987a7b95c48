"""What a process knows about one workspace: its purse, and the calls that wait for money."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import NamedTuple

from gateway.stores.purse import Purse
from gateway.stores.wallet_client import Draw


class Waiter(NamedTuple):
    """A call that waits for its hold."""

    want_nusd: int
    least_nusd: int
    granted: asyncio.Future[int]
    # It asks what it would get, and gets nothing.
    only_asks: bool = False

    def hold(self, purse: Purse, amount_nusd: int) -> bool:
        """Set the amount aside. False, and nothing happens, when too little is free."""
        return purse.free_nusd >= amount_nusd if self.only_asks else purse.hold(amount_nusd)


@dataclass(slots=True, eq=False, kw_only=True)
class Account:
    """A workspace's purse and what is going on about it. Moments are the event loop's."""

    purse: Purse = field(default_factory=Purse)
    waiters: list[Waiter] = field(default_factory=list)
    drawing: Draw | None = None  # the draw that is under way
    empty_until: float = 0.0
    refused_nusd: int = 0  # what the wallet had not; 0: it was emptied
    recall_until: float = 0.0  # 0: nothing recalled
    recalled_until: float = 0.0  # another process waits for what is idle here
    refill_after: float = 0.0

    def waiting(self) -> list[Waiter]:
        """Return those who still wait, in the order they came."""
        return [waiter for waiter in self.waiters if not waiter.granted.done()]

    def is_known_to_lack(self, least_nusd: int) -> bool:
        """True unless the wallet may have what the purse lacks: less than what it refused."""
        lack_nusd = least_nusd - self.purse.free_nusd
        return lack_nusd <= 0 or lack_nusd >= self.refused_nusd

    def can_serve_a_waiter(self) -> bool:
        """True when what is free in the purse is enough for one of those who wait."""
        free_nusd = self.purse.free_nusd
        return any(waiter.least_nusd <= free_nusd for waiter in self.waiting())

    def needed_draw(self, workspace_id: str) -> Draw:
        """Return the draw that would serve everybody who waits, and fill the purse."""
        free_nusd = self.purse.free_nusd
        waiting = self.waiting()
        need_nusd = sum(waiter.want_nusd for waiter in waiting) - free_nusd if waiting else 0
        least_nusd = min((waiter.least_nusd for waiter in waiting), default=0) - free_nusd
        largest_nusd = max((waiter.want_nusd for waiter in waiting), default=0)
        target_nusd = max(self.purse.target_nusd, 2 * largest_nusd)
        return Draw(
            workspace_id,
            least_nusd=max(least_nusd, 1),
            need_nusd=max(need_nusd, 0),
            extra_nusd=max(target_nusd - max(free_nusd, 0), 0),
        )
