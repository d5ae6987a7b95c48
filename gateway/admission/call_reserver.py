"""Sets aside what a call may cost, of the balance and of its limits, before it is admitted."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from gateway.admission.counter_protocols import HangUp
from gateway.admission.credit_numbers import lack_of_credits
from gateway.admission.lease import Lease as CallLease
from gateway.admission.limit_rules import Rules, amounts_of
from gateway.admission.limited_call import LimitedCall
from gateway.admission.limits import Limiter
from gateway.admission.request_caps import check_caps, is_cap
from gateway.core.cost_bound import CostBound
from gateway.core.errors import InsufficientCredits, KeyLimitExceeded, RequestError
from gateway.core.grant import Lease
from gateway.snapshot.caller import Caller
from gateway.snapshot.candidate import Candidate
from gateway.snapshot.holder import SnapshotHolder
from gateway.snapshot.types import KeyRecord


class Money(Protocol):
    """What admission asks of the CreditReserver (gateway.stores.credit_reserver)."""

    def try_hold(self, workspace_id: str, want_nusd: int) -> bool: ...

    async def hold(self, workspace_id: str, *, want_nusd: int, least_nusd: int) -> int: ...

    def release(self, workspace_id: str, hold_nusd: int, charge_nusd: int) -> int: ...


class Taken(Struct, frozen=True, gc=False):
    """What was set aside for a call: its bound and the fallback models as caps leave them, the
    nano-USD held, the output tokens per answer that they cover, and its limits."""

    bound: CostBound
    others: Sequence[Candidate]
    hold_nusd: int
    affordable: int
    lease: CallLease | None


class CallReserver:
    """Of one process."""

    def __init__(self, credits: Money, limits: Limiter, snapshot: SnapshotHolder) -> None:
        self._credits = credits
        self._limits = limits
        self._snapshot = snapshot

    async def check(self, key: KeyRecord, model: str, bound: CostBound) -> int:
        """Hold so much, and raise what `take` would raise now. Returns the nano-USD held."""
        rules = self._snapshot.current.rules_of(model)
        held_nusd, _ = await self._hold(key.workspace_id, bound, ())
        try:
            if key.limits is not None or rules:
                amounts = amounts_of(bound, bound.limit_tokens, held_nusd)
                outlook = await self._limits.ask(
                    LimitedCall(key, model, amounts, rules), wants_slots=False
                )
                if refusal := outlook.refusal():
                    raise refusal
        except BaseException:
            self.give_back(key.workspace_id, held_nusd, None)
            raise
        return held_nusd

    async def _hold(
        self, workspace_id: str, bound: CostBound, others: Sequence[Candidate]
    ) -> tuple[int, int]:
        """Return the nano-USD held and the output tokens per answer that they cover.

        others: models to fall back to. What is there of their cost is held, but a call that the
        rest covers is not refused for it.
        """
        want_nusd, limit = bound.want_nusd, bound.limit_tokens
        if others:
            want_nusd = max(want_nusd, *[one.bound.want_nusd for one in others])
        if not want_nusd or self._credits.try_hold(workspace_id, want_nusd):
            return want_nusd, limit
        least_nusd = bound.least_nusd
        try:
            held_nusd = await self._credits.hold(
                workspace_id, want_nusd=want_nusd, least_nusd=least_nusd
            )
        except InsufficientCredits as refusal:
            if least_nusd:
                raise lack_of_credits(refusal, least_nusd) from None
            return 0, limit
        if held_nusd >= want_nusd or not bound.token_pusd:
            return held_nusd, limit
        affordable = bound.affordable_tokens(held_nusd)
        if affordable < 1:
            self._credits.release(workspace_id, held_nusd, 0)
            raise lack_of_credits(InsufficientCredits(), least_nusd)
        return held_nusd, affordable

    async def take(
        self,
        caller: Caller,
        model: str,
        bound: CostBound,
        others: Sequence[Candidate],
        hang_up: HangUp,
    ) -> Taken:
        """Hold what the call may cost and acquire its limits, waiting in their queues. On failure
        nothing is held."""
        key, rules = caller.key, self._snapshot.current.rules_of(model)
        if key.limits is None and not rules and not (others and self._have_rules(others)):
            hold_nusd, affordable = await self._hold(key.workspace_id, bound, others)
            return Taken(bound, others, hold_nusd, affordable, None)
        bound, others = self._within_caps(key, model, bound, others, rules=rules)
        try:
            taken = await self._take_limited(caller, model, bound, others, hang_up, rules=rules)
        except KeyLimitExceeded:
            if not others:
                raise
            # As with a balance: no call is refused for what another model might cost.
            taken = await self._take_limited(caller, model, bound, (), hang_up, rules=rules)
            taken = replace(taken, others=others)
        if others:
            self._prepare_fallbacks(caller, model, taken)
        return taken

    def _have_rules(self, others: Sequence[Candidate]) -> bool:
        """True when calls to one of these models come under rules."""
        snapshot = self._snapshot.current
        return any(snapshot.rules_of(other.model.name) for other in others)

    def _prepare_fallbacks(self, caller: Caller, model: str, taken: Taken) -> None:
        """Have the lease know what the call wants of the rules of each model."""
        if taken.lease is None:
            return

        def call_to(model: str, bound: CostBound) -> LimitedCall:
            affordable = max(bound.affordable_tokens(taken.hold_nusd), 0)
            tokens = min(bound.limit_tokens, affordable)
            amounts = amounts_of(bound, tokens, taken.hold_nusd)
            rules = self._snapshot.current.rules_of(model)
            return LimitedCall(caller.key, model, amounts, rules, caller.rates)

        taken.lease.may_fall_back(
            self._limits.fall_back,
            call_to(model, taken.bound),
            [call_to(other.model.name, other.bound) for other in taken.others],
        )

    async def _take_limited(
        self,
        caller: Caller,
        model: str,
        bound: CostBound,
        others: Sequence[Candidate],
        hang_up: HangUp,
        *,
        rules: Rules,
    ) -> Taken:
        key = caller.key
        hold_nusd, affordable = await self._hold(key.workspace_id, bound, others)
        amounts = amounts_of(bound, min(bound.limit_tokens, affordable), hold_nusd)
        call = LimitedCall(key, model, amounts, rules, caller.rates)
        try:
            lease = await self._limits.acquire(call, hang_up)
        except BaseException:
            self.give_back(key.workspace_id, hold_nusd, None)
            raise
        return Taken(bound, others, hold_nusd, affordable, lease)

    def _within_caps(
        self,
        key: KeyRecord,
        model: str,
        bound: CostBound,
        others: Sequence[Candidate],
        *,
        rules: Rules,
    ) -> tuple[CostBound, Sequence[Candidate]]:
        """Return the bounds as caps on one call leave them. Raises RequestError."""
        # Most calls have none, and filter() finds that out faster than check_caps.
        caps = [*filter(is_cap, rules), *filter(is_cap, key.rules)]
        if caps:
            bound = check_caps(caps, model, bound)
        if not others:
            return bound, others
        snapshot = self._snapshot.current
        left = []
        for other in others:
            name = other.model.name
            with suppress(RequestError):
                capped = check_caps((*snapshot.rules_of(name), *key.rules), name, other.bound)
                left.append(other if capped is other.bound else replace(other, bound=capped))
        return bound, left

    def give_back(self, workspace_id: str, hold_nusd: int, lease: Lease | None) -> None:
        """Give back what was taken for a call that is not let in after all."""
        if hold_nusd:
            self._credits.release(workspace_id, hold_nusd, 0)
        if lease is not None:
            lease.withdraw()
