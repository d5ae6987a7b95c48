"""The limits on requests and tokens that a caller is under, as answers tell of them."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct


class RateLimitStatus(Struct, frozen=True, gc=False):
    """Where a caller stands under its tightest limit of a kind."""

    # How much may be used at once, and how much of it now.
    limit: int
    remaining: int
    # The second since the epoch in which nothing of it will be used any more, and how far away that
    # is.
    reset_s: int
    reset_in_s: int
    # How much may be used in the period of the limit.
    per_period: int


class Rates(Protocol):
    """The limits that a caller is under (gateway.admission.rates). None: there is none."""

    def statuses(self) -> tuple[RateLimitStatus | None, RateLimitStatus | None]:
        """Return where the caller stands with requests, and with tokens; None for no such limit."""
