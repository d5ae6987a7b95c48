"""How fast one client is refused. Beyond a rate its refusals wait, and with them the next request.

A flood of requests that are all refused costs as much as a flood of calls and pays nothing. Who
waits for answers cannot ask faster than they come, so refusals that are spread over time bound the
work that any number of connections can make. Answers that are not refusals never wait.
"""

from __future__ import annotations

from gateway.admission.address import Network, client_subnet, find_caller
from gateway.core.asgi import ReadOnlyScope
from gateway.http.head import read_head

MAX_DELAY_S = 5.0
# What may be refused at once, in seconds of the rate: a tenth of a second's work for the loop.
BURST_S = 0.25
MAX_SUBNETS = 10_000
FIRST_REFUSAL = 400
# The provider failed, after the call was admitted and paid for.
NOT_REFUSALS = frozenset({502, 504})


class RefusalRate:
    """A leaky bucket for each client subnet: an IPv4 address, or an IPv6 /64. For one loop."""

    def __init__(self, per_s: float, trusted_proxies: tuple[Network, ...]) -> None:
        """per_s: how many refusals a second one subnet gets without waiting; 0 is any number."""
        self._step_s = 1.0 / per_s if per_s else 0.0
        self._trusted = trusted_proxies
        # When the bucket will be empty, on the loop's clock. The least recently seen is first.
        self._empty_at: dict[str, float] = {}

    def delay_s(self, status: int, scope: ReadOnlyScope, now: float) -> float:
        """Count an answer, and return how long it has to wait if it is a refusal."""
        if status < FIRST_REFUSAL or status in NOT_REFUSALS or not self._step_s:
            return 0.0
        address = find_caller(read_head(scope), self._trusted)
        return self._count("" if address is None else client_subnet(address), now)

    def _count(self, subnet: str, now: float) -> float:
        empty_at = max(self._empty_at.pop(subnet, now), now)
        delay_s = empty_at - now - BURST_S
        if delay_s < MAX_DELAY_S:
            empty_at += self._step_s
        if len(self._empty_at) >= MAX_SUBNETS:
            del self._empty_at[next(iter(self._empty_at))]
        self._empty_at[subnet] = empty_at
        return max(0.0, min(delay_s, MAX_DELAY_S))
