"""Wrong passwords make the client's subnet wait, longer each time; no other subnet waits.

In memory, of this process alone: the oldest entries go when there are too many.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

FREE_TRIES = 5
FREE_TRIES_PER_SUBNET = 30  # over all accounts: an office has one address
FIRST_WAIT_S = 2.0
LONGEST_WAIT_S = 15 * 60.0
FORGOTTEN_AFTER_S = 60 * 60.0
MAX_ENTRIES = 20_000


@dataclass(slots=True)
class Tries:
    """failed: without a success. last_at: of the last try."""

    failed: int
    last_at: float

    def wait_s(self, free: int, now: float) -> float:
        """Return how long from now the next try has to wait."""
        if self.failed < free:
            return 0.0
        pause_s = min(FIRST_WAIT_S * (1 << min(self.failed - free, 30)), LONGEST_WAIT_S)
        return max(self.last_at + pause_s - now, 0.0)


class SignInThrottle:
    """subnet: an address, or the network that IPv6 gives one line. account: as it was typed.

    A try counts as failed until it succeeds, so many at once are no way around.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._tries: dict[tuple[str, str], Tries] = {}

    def begin(self, subnet: str, account: str) -> float:
        """Count a try. Returns the seconds to wait, and counts nothing, when it comes too early."""
        now = self._clock()
        limits = (((subnet, account), FREE_TRIES), ((subnet, ""), FREE_TRIES_PER_SUBNET))
        with self._lock:
            waits = [self._known(key, now).wait_s(free, now) for key, free in limits]
            if any(waits):
                return max(waits)
            for key, _ in limits:
                known = self._known(key, now)
                self._tries.pop(key, None)
                self._tries[key] = Tries(known.failed + 1, now)
            while len(self._tries) > MAX_ENTRIES:
                del self._tries[next(iter(self._tries))]
        return 0.0

    def succeed(self, subnet: str, account: str) -> None:
        """Forget what failed at this account from this subnet, and this one try of the subnet."""
        with self._lock:
            self._tries.pop((subnet, account), None)
            of_subnet = self._tries.get((subnet, ""))
            if of_subnet is not None:
                of_subnet.failed -= 1

    def clear(self) -> None:
        with self._lock:
            self._tries.clear()

    def _known(self, key: tuple[str, str], now: float) -> Tries:
        known = self._tries.get(key)
        if known is None or now - known.last_at > FORGOTTEN_AFTER_S:
            return Tries(0, now)
        return known


throttle = SignInThrottle()
