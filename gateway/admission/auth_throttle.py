"""Slows down clients that keep sending invalid API keys.

Only failed attempts are counted, and only they turn into another error: a caller with a valid key
in the same subnet is served as ever.
"""

from __future__ import annotations

import time

from gateway.core.errors import RateLimited

WINDOW_S = 10.0
MAX_SUBNETS = 10_000


class AuthThrottle:
    """Counts failed attempts per client subnet, in windows of ten seconds, in this process."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._windows: dict[str, tuple[float, int]] = {}

    def record_failure(self, subnet: str) -> None:
        """Count one more. Raises RateLimited when there are more than the limit."""
        now = time.monotonic()
        began, count = self._windows.pop(subnet, (now, 0))
        if now - began >= WINDOW_S:
            began, count = now, 0
        if len(self._windows) >= MAX_SUBNETS:
            del self._windows[next(iter(self._windows))]  # the least recently seen
        self._windows[subnet] = began, count + 1
        if count >= self._limit:
            raise RateLimited(
                "Too many requests with an invalid API key came from this IP address.",
                retry_after_s=began + WINDOW_S - now,
            )
