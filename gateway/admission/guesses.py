"""How often one place has lately shown a bad key: a flood of guesses is told to slow down.

Only refusals are counted and only they turn into another refusal, so whoever shares a place
with a guesser and has a good key is served as ever.
"""

from __future__ import annotations

import time

from gateway.core.errors import RateLimited

WINDOW_S = 10.0
MAX_PLACES = 10_000


class Guesses:
    """Counts per place in windows of ten seconds; in memory, of this process alone."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._windows: dict[str, tuple[float, int]] = {}

    def note(self, place: str) -> None:
        """Count one more. Raises RateLimited when there are more than the limit."""
        now = time.monotonic()
        began, count = self._windows.pop(place, (now, 0))
        if now - began >= WINDOW_S:
            began, count = now, 0
        if len(self._windows) >= MAX_PLACES:
            del self._windows[next(iter(self._windows))]  # the one heard of least lately
        self._windows[place] = began, count + 1
        if count >= self._limit:
            raise RateLimited(
                "Too many calls with an API key that is not valid came from this address.",
                retry_after_s=began + WINDOW_S - now,
            )
