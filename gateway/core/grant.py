"""Permission for one call, and what was set aside for it."""

from __future__ import annotations

from typing import Protocol

import msgspec

from gateway.core.money import Price


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

    price: the dearest of the plan at the moment of admission. limit_tokens: the output that
    the hold covers, over all choices. cap_tokens: the limit per choice to send upstream, or
    None to leave the caller's own words as they are. dropped_params: members that do not go
    upstream because the model's provider does not take them. adopted_id: the caller's own id of
    the call, empty where it has none that could be adopted (docs/adr/0021). lease: None for keys
    without limits.
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
    lease: Lease | None = None

    @property
    def shown_id(self) -> str:
        """The id under which the caller knows the call."""
        return self.adopted_id or self.call_id
