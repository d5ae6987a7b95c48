"""Sets more aside for a running call, from the balance and within what its key may spend."""

from __future__ import annotations

from typing import Protocol

from gateway.admission.spending import BudgetExceeded
from gateway.core.errors import DatabaseUnavailable, InsufficientCredits, KeyLimitExceeded
from gateway.core.grant import Grant

# A call has at most three budgets: each may have less left than the one before.
MAX_TRIES = 4


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
        held_nusd = grant.held_nusd
        if held_nusd >= want_nusd or grant.more_holds is None:
            return held_nusd
        more_nusd, least_more_nusd = want_nusd - held_nusd, max(least_nusd - held_nusd, 1)
        for _ in range(MAX_TRIES):
            left_nusd = await self._hold_more(grant, more_nusd, least_more_nusd)
            if left_nusd is None or more_nusd <= least_more_nusd:
                break
            more_nusd = max(left_nusd, least_more_nusd)
        return grant.held_nusd

    async def _hold_more(self, grant: Grant, want_nusd: int, least_nusd: int) -> int | None:
        """Hold so much more, or as much from least_nusd on as the balance has. Returns what is left
        of a budget that does not cover it: nothing has changed then; None where there is nothing to
        be tried again."""
        more_holds, workspace_id = grant.more_holds, grant.identity.workspace_id
        assert more_holds is not None
        try:
            more_nusd = await self._credits.hold(
                workspace_id, want_nusd=want_nusd, least_nusd=least_nusd
            )
        except (InsufficientCredits, DatabaseUnavailable):
            return None
        # From here on it is released when the call ends, whatever happens.
        more_holds.append(more_nusd)
        if grant.lease is None:
            return None
        try:
            await grant.lease.grow(more_nusd)
        except (KeyLimitExceeded, DatabaseUnavailable) as error:
            self._credits.release(workspace_id, more_holds.pop(), 0)
            return error.left_nusd if isinstance(error, BudgetExceeded) else None
        return None
