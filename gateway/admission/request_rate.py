"""How many calls a minute: a token bucket in whole numbers. Pure: it is told the time."""

from __future__ import annotations

MINUTE_NS = 60 * 10**9
# What one call weighs; a limit of n a minute takes n away every nanosecond.
CALL = MINUTE_NS


class TokenBucket:
    """Lets `burst` calls through at once and `per_minute` a minute after that.

    So never more than both together in any minute. What is counted stays counted when the limits
    change. Moments are nanoseconds of any clock that does not go back.
    """

    __slots__ = ("_at_ns", "_used", "burst", "per_minute")

    def __init__(self, per_minute: int, burst: int, now_ns: int) -> None:
        self.per_minute = per_minute
        self.burst = burst
        self._used = 0
        self._at_ns = now_ns

    def change(self, per_minute: int, burst: int, now_ns: int) -> None:
        """Apply other limits from now on."""
        self._advance(now_ns)
        self.per_minute, self.burst = per_minute, burst

    def try_take(self, now_ns: int) -> bool:
        """Count a call if it may pass now."""
        self._advance(now_ns)
        if self._used > (self.burst - 1) * CALL:
            return False
        self._used += CALL
        return True

    async def take(self, now_ns: int) -> int:
        """Count a call if it may pass now. Returns 0, or how long until one may."""
        return 0 if self.try_take(now_ns) else self.wait_ns(now_ns)

    def give_back(self, now_ns: int) -> None:
        """Take back a call that was counted and then not let in."""
        self._advance(now_ns)
        self._used = max(self._used - CALL, 0)

    def wait_ns(self, now_ns: int) -> int:
        """Return how long until a call may pass; 0 when it may now."""
        return self._time_for(self._used_at(now_ns) - (self.burst - 1) * CALL)

    def full_in_ns(self, now_ns: int) -> int:
        """Return how long until as many calls may pass at once as ever."""
        return self._time_for(self._used_at(now_ns))

    def remaining(self, now_ns: int) -> int:
        """Return how many calls may pass at once now."""
        left = self.burst * CALL - self._used_at(now_ns)
        return left // CALL if left > 0 else 0

    def _used_at(self, now_ns: int) -> int:
        used = self._used - (now_ns - self._at_ns) * self.per_minute
        return used if used > 0 else 0

    def _advance(self, now_ns: int) -> None:
        self._used = self._used_at(now_ns)
        self._at_ns = now_ns

    def _time_for(self, amount: int) -> int:
        return -(-amount // self.per_minute) if amount > 0 else 0
