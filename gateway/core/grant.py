"""Permission for one call, and what was set aside for it."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec
from msgspec.structs import replace

from gateway.core.money import Price


class FallbackModel(msgspec.Struct, frozen=True):
    """A model that may serve a call when those before it could not (docs/adr/0024).

    targets: its own, in order. call: as this model gets it. The rest: as a Grant has them, for
    this model.
    """

    model: str
    targets: tuple[Any, ...]
    price: Price
    limit_tokens: int
    cap_tokens: int | None
    dropped_params: tuple[str, ...]
    call: Any


class Lease(Protocol):
    """What a call has taken of limits (gateway.admission.limits). queued_us: how long it waited
    for that."""

    queued_us: int

    def settle(self) -> None:
        """The call's cost is known: hold nothing of its key's spending any more."""

    def end(self) -> None:
        """The call is over: give everything back. Again it does nothing."""

    def withdraw(self) -> None:
        """The call was not let in after all: give back the request, too."""


class Grant(msgspec.Struct, frozen=True):
    """Given by admission, closed by settling.

    price: the dearest of the model's targets at the moment of admission. limit_tokens: the output
    that the hold covers, over all choices. cap_tokens: the limit per choice to send upstream, or
    None to leave the caller's own words as they are. dropped_params: members that do not go
    upstream because the model's provider does not take them. adopted_id: the caller's own id of
    the call, empty where it has none that could be adopted (docs/adr/0021). pdf_pages: of PDFs,
    those that were made into pictures for the call; pdf_page_nusd: what each of them costs.
    lease: None for keys without limits. fallback_models: the models to fall back to, in order.
    fallback_from: the model that was meant, empty unless another one is at it; fallback_depth:
    which of the fallback models that is, 1 the first.
    """

    call_id: str
    workspace_id: str
    key_id: str
    requested_model: str
    model: str
    streamed: bool
    stores_bodies: bool
    price: Price
    hold_nusd: int
    limit_tokens: int
    cap_tokens: int | None
    admitted_at: float
    user: str
    ip: str
    client_request_id: str
    episode_id: str = ""
    profile: str = ""
    dropped_params: tuple[str, ...] = ()
    adopted_id: str = ""
    pdf_pages: int = 0
    pdf_page_nusd: int = 0
    lease: Lease | None = None
    fallback_models: tuple[FallbackModel, ...] = ()
    fallback_from: str = ""
    fallback_depth: int = 0

    @property
    def shown_id(self) -> str:
        """The id under which the caller knows the call."""
        return self.adopted_id or self.call_id

    def passed_to(self, model: str) -> tuple[Grant, Any]:
        """Return the same permission for this fallback model, and the call as it gets it."""
        depth = next(
            n for n, fallback in enumerate(self.fallback_models, 1) if fallback.model == model
        )
        fallback = self.fallback_models[depth - 1]
        grant = replace(
            self,
            model=model,
            price=fallback.price,
            limit_tokens=fallback.limit_tokens,
            cap_tokens=fallback.cap_tokens,
            dropped_params=fallback.dropped_params,
            fallback_from=self.fallback_from or self.model,
            fallback_depth=depth,
        )
        return grant, fallback.call
