"""Permission for one call, and what was set aside for it."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec
from msgspec.structs import replace

from gateway.core.call import AnyCall
from gateway.core.call_identity import CallIdentity
from gateway.core.cost_bound import CostBound
from gateway.core.money import Price
from gateway.core.receipt import Receipt, ToolUse


class FallbackModel(msgspec.Struct, frozen=True, kw_only=True):
    """A model that may serve a call when those before it could not (docs/adr/0024)."""

    model: str
    # Its own, in order.
    targets: tuple[Any, ...]
    # As a Grant has them, for this model.
    price: Price
    limit_tokens: int
    cap_tokens: int | None
    dropped_params: tuple[str, ...]
    # As this model gets it, and the most that it can cost.
    call: AnyCall
    bound: CostBound


class Lease(Protocol):
    """What a call has taken of limits (gateway.admission.limits). queued_us: how long it waited
    for that."""

    queued_us: int

    async def grow(self, nusd: int) -> None:
        """Hold so much more of what the key may spend. Raises KeyLimitExceeded,
        DatabaseUnavailable."""

    async def reserve(self, *, prompt_tokens: int, completion_tokens: int, cost_nusd: int) -> bool:
        """Have so much be reserved in all, of the rules that the call comes under. Returns False
        when one of them refuses; nothing has changed then."""

    async def fall_back(self, model: str) -> bool:
        """Come under the rules of a model that serves instead. Returns False when one of them
        refuses the call; nothing has changed then."""

    def settle(self, receipt: Receipt) -> None:
        """It is known what the call has used: hold and reserve nothing any more."""

    def end(self) -> None:
        """The call is over: give everything back. Again it does nothing."""

    def withdraw(self) -> None:
        """The call was not let in after all: give back the request, too."""


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """Given by admission, closed by settling."""

    identity: CallIdentity
    # The public name of the model that is at it.
    model: str
    # The highest of the model's targets at the moment of admission.
    price: Price
    hold_nusd: int
    # What was set aside since, for calls whose tools the gateway runs; None for others.
    more_holds: list[int] | None = None
    # The most that the call can cost, as it was asked for; None where nobody asks.
    bound: CostBound | None = None
    # The output that the hold covers, over all choices.
    limit_tokens: int
    # The limit per choice to send upstream; None leaves the caller's own words as they are.
    cap_tokens: int | None
    stores_bodies: bool = False
    # As in KeyRecord.
    member: str = ""
    # Members that do not go upstream because the model's provider does not take them.
    dropped_params: tuple[str, ...] = ()
    # The caller's own id of the call; empty where it has none that could be adopted
    # (docs/adr/0021).
    adopted_id: str = ""
    # What tools of the gateway have done for the call before it goes to a provider.
    tools: tuple[ToolUse, ...] = ()
    # None for keys without limits.
    lease: Lease | None = None
    # The models to fall back to, in order.
    fallback_models: tuple[FallbackModel, ...] = ()
    # The model that was meant, empty unless another one is at it; which of the fallback models that
    # is, 1 the first.
    fallback_from: str = ""
    fallback_depth: int = 0

    @property
    def held_nusd(self) -> int:
        """What is set aside for the call now."""
        return self.hold_nusd + sum(self.more_holds) if self.more_holds else self.hold_nusd

    @property
    def shown_id(self) -> str:
        """The id under which the caller knows the call."""
        return self.adopted_id or self.identity.call_id

    def passed_to(self, model: str) -> tuple[Grant, AnyCall]:
        """Return the same permission for this fallback model, and the call as it gets it."""
        depth = next(
            n for n, fallback in enumerate(self.fallback_models, 1) if fallback.model == model
        )
        fallback = self.fallback_models[depth - 1]
        grant = replace(
            self,
            model=model,
            price=fallback.price,
            bound=fallback.bound,
            limit_tokens=fallback.limit_tokens,
            cap_tokens=fallback.cap_tokens,
            dropped_params=fallback.dropped_params,
            fallback_from=self.fallback_from or self.model,
            fallback_depth=depth,
        )
        return grant, fallback.call
