"""How many calls a caller may still make, in the head of an answer (gateway contract, 7.6)."""

from __future__ import annotations

from typing import Protocol

Headers = list[tuple[bytes, bytes]]
NAMES = (
    (b"x-ratelimit-limit", b"x-ratelimit-limit-requests"),
    (b"x-ratelimit-remaining", b"x-ratelimit-remaining-requests"),
    (b"x-ratelimit-reset", b"x-ratelimit-reset-requests"),
)


class Rates(Protocol):
    """The limits on requests that a caller is under (gateway.admission.gates)."""

    def standing(self) -> tuple[int, int, int]:
        """Return how many calls may be made at once, how many of them now, and the second since
        the epoch in which that is as many as ever."""


def rate_headers(rates: Rates | None, status: int) -> Headers:
    """Return the headers of an answer of this status. A caller that may not come in gets none."""
    if rates is None or status == 401:
        return []
    return [
        (name, b"%d" % value)
        for names, value in zip(NAMES, rates.standing(), strict=True)
        for name in names
    ]
