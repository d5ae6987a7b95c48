"""The limits on requests that a caller is under, as answers tell of them."""

from __future__ import annotations

from typing import Protocol


class Rates(Protocol):
    """The limits on requests that a caller is under (gateway.admission.limiter_state)."""

    def status(self) -> tuple[int, int, int, int, int]:
        """Return how many calls may be made at once, how many of them now, the second since the
        epoch in which that is as many as ever, how many seconds that is away, and how many calls
        may be made a minute."""
