"""What a rehearsed admission has instead of the credits and limits of the process: it is told what
a call would get, and nothing is taken."""

from __future__ import annotations

from typing import Protocol

from gateway.admission.counter_protocols import HangUp
from gateway.admission.lease import Lease
from gateway.admission.limit_rules import Rules
from gateway.admission.limited_call import LimitedCall, Outlook
from gateway.admission.limits import Limiter
from gateway.admission.rates import Rates
from gateway.snapshot.types import KeyRecord


class Credits(Protocol):
    """What is asked of the CreditReserver (gateway.stores.credit_reserver)."""

    async def hold(
        self, workspace_id: str, *, want_nusd: int, least_nusd: int, only_asks: bool = False
    ) -> int: ...


class AskedCredits:
    """For one rehearsal. wanted_nusd, granted_nusd: of the last hold; None before any."""

    def __init__(self, credits: Credits) -> None:
        self._credits = credits
        self.wanted_nusd: int | None = None
        self.granted_nusd: int | None = None

    def try_hold(self, workspace_id: str, want_nusd: int) -> bool:
        return False

    async def hold(self, workspace_id: str, *, want_nusd: int, least_nusd: int) -> int:
        self.wanted_nusd, self.granted_nusd = want_nusd, None
        self.granted_nusd = await self._credits.hold(
            workspace_id, want_nusd=want_nusd, least_nusd=least_nusd, only_asks=True
        )
        return self.granted_nusd

    def release(self, workspace_id: str, hold_nusd: int, charge_nusd: int) -> int:
        return 0


class AskedLimits:
    """For one rehearsal. call: what they were asked about, None before. outlook: what the limits
    said; None before they were asked, or when a budget refuses before them."""

    def __init__(self, limits: Limiter) -> None:
        self._limits = limits
        self.counters = limits.counters
        self.call: LimitedCall | None = None
        self.outlook: Outlook | None = None

    def rates_of(self, key: KeyRecord, rules: Rules) -> Rates:
        return self._limits.rates_of(key, rules)

    async def ask(self, call: LimitedCall, *, wants_slots: bool) -> Outlook:
        self.call, self.outlook = call, None
        self.outlook = await self._limits.ask(call, wants_slots=wants_slots)
        return self.outlook

    async def acquire(self, call: LimitedCall, hang_up: HangUp) -> Lease:
        outlook = await self.ask(call, wants_slots=True)
        if refusal := outlook.refusal():
            raise refusal
        return Lease(counters=self.counters)

    async def fall_back(self, lease: Lease, before: LimitedCall, call: LimitedCall) -> bool:
        return True
