"""The minimum data rate of a request body that did not arrive with its head."""

from __future__ import annotations

from gateway.core.errors import RequestTimeout
from gateway.edge.limits import LEAST_BODY_BYTES_PER_S, EdgeLimits


class MinDataRate:
    """Checked every half of body_rate_window_s, over the last two halves."""

    __slots__ = ("_before", "_limits", "_seen", "_silent_s", "step_s")

    def __init__(self, limits: EdgeLimits, seen_bytes: int) -> None:
        self.step_s = limits.body_rate_window_s / 2
        self._limits = limits
        self.restart(seen_bytes)

    def restart(self, seen_bytes: int) -> None:
        """Forget the past: the delay was not the caller's fault."""
        self._seen = seen_bytes
        self._before: int | None = None
        self._silent_s = 0.0

    def check(self, seen_bytes: int) -> None:
        """Record how many bytes have arrived by now. Raises RequestTimeout for too few."""
        came, before = seen_bytes - self._seen, self._before
        self._seen, self._before = seen_bytes, came
        self._silent_s = 0.0 if came else self._silent_s + self.step_s
        if self._silent_s >= self._limits.body_silence_s:
            raise RequestTimeout(
                f"No more of the body arrived for {self._limits.body_silence_s:g} s."
            )
        if before is None or not came + before:
            return  # too early to tell, or silent, which has a limit of its own
        if came + before < LEAST_BODY_BYTES_PER_S * self._limits.body_rate_window_s:
            raise RequestTimeout(f"The body arrived slower than {LEAST_BODY_BYTES_PER_S} bytes/s.")
