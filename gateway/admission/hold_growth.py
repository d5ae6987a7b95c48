"""Sets more aside for a running call, from the balance and within what its key may spend."""

from __future__ import annotations

from typing import Protocol

from gateway.core.errors import DatabaseUnavailable, InsufficientCredits, KeyLimitExceeded
from gateway.core.grant import Grant


class Money(Protocol):
    """What it asks of the CreditReserver (gateway.stores.credit_reserver)."""

    async def hold(self, workspace_id: str, *, want_nusd: int, least_nusd: int) -> int: ...

    def release(self, workspace_id: str, hold_nusd: int, charge_nusd: int) -> int: ...


class HoldGrowth:
    """Of one process."""

    def __init__(self, credits: Money) -> None:
        self._credits = credits

    async def grow(
        self, grant: Grant, *, want_nusd: int, least_nusd: int, tokens: tuple[int, int]
    ) -> int | None:
        """As gateway.tools.round_hold.GrowHold."""
        if grant.lease is not None and not await grant.lease.reserve(
            prompt_tokens=tokens[0], completion_tokens=tokens[1], cost_nusd=want_nusd
        ):
            return None
        held_nusd, more_holds = grant.held_nusd, grant.more_holds
        if held_nusd >= want_nusd or more_holds is None:
            return held_nusd
        least_more_nusd = max(least_nusd - held_nusd, 1)
        try:
            more_nusd = await self._credits.hold(
                grant.identity.workspace_id,
                want_nusd=want_nusd - held_nusd,
                least_nusd=least_more_nusd,
            )
        except (InsufficientCredits, DatabaseUnavailable):
            return held_nusd
        # From here on it is released when the call ends, whatever happens.
        more_holds.append(more_nusd)
        if grant.lease is None:
            return grant.held_nusd
        try:
            await grant.lease.grow(more_nusd)
        except (KeyLimitExceeded, DatabaseUnavailable):
            self._credits.release(grant.identity.workspace_id, more_holds.pop(), 0)
        return grant.held_nusd
