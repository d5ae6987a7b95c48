"""Permission for one call, and what was set aside for it."""

from __future__ import annotations

import msgspec

from gateway.core.money import Price


class Grant(msgspec.Struct, frozen=True):
    """Given by admission, closed by settling.

    price: the dearest of the plan at the moment of admission. limit_tokens: the output that
    the hold covers, over all choices. cap_tokens: the limit per choice to send upstream, or
    None to leave the caller's own words as they are. dropped_params: members that do not go
    upstream because the model's provider does not take them. adopted_id: the caller's own id of
    the call, empty where it has none that could be adopted (docs/adr/0021). pdf_pages: of PDFs,
    those that were made into pictures for the call; pdf_page_nusd: what each of them costs.
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

    @property
    def shown_id(self) -> str:
        """The id under which the caller knows the call."""
        return self.adopted_id or self.call_id
