"""Permission for one call, and what was set aside for it."""

from __future__ import annotations

import msgspec

from gateway.core.money import Price


class Grant(msgspec.Struct, frozen=True):
    """Given by admission, closed by settling.

    price: the dearest of the plan at the moment of admission. limit_tokens: the output that
    the hold covers, over all choices. cap_tokens: the limit per choice to send upstream, or
    None to leave the caller's own words as they are. dropped_params: members that do not go
    upstream because the model's provider does not take them.
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
