"""Requests of one key or workspace, counted in Redis; what is known of it here."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from gateway.admission.request_rate import CALL, TokenBucket
from gateway.stores.redis_link import RedisLink
from gateway.stores.redis_scripts import ADJUST_SCRIPT

NS_PER_US = 1_000
NONE_NS = 10**9  # until a process without a share may ask again


class Share(NamedTuple):
    """What this process may use of a limit while Redis is away: it is one of so many, the rank-th
    of them. The shares of all together are the limit."""

    processes: int
    rank: int

    def of(self, limit: int) -> int:
        return limit // self.processes + (self.rank < limit % self.processes)

    def weight(self, burst: int) -> int:
        """Return how many requests one counts for; 0 when this process may make none."""
        if burst >= self.processes:
            return self.processes
        return burst if self.rank < burst else 0


class SharedRate(TokenBucket):
    """The bucket as Redis last said it is, emptying since; for the headers of answers, and to go
    on from while Redis is away. Then each request counts for those of the other processes, too."""

    __slots__ = ("_heard", "_heard_at_ns", "_lent", "_lent_at_ns", "_link", "_on_lent", "key")

    def __init__(
        self, per_minute: int, burst: int, now_ns: int, *, key: str, link: RedisLink,
        on_lent: Callable[[SharedRate], None],
    ) -> None:  # fmt: skip
        super().__init__(per_minute, burst, now_ns)
        self.key = key
        self._link = link
        self._on_lent = on_lent
        # What Redis said last, and requests that it does not know of.
        self._heard = 0
        self._heard_at_ns = now_ns
        self._lent = 0
        self._lent_at_ns = now_ns

    def hear(self, used_us: int, now_ns: int) -> None:
        """Redis says how much is used."""
        self._used = self._heard = used_us * NS_PER_US
        self._at_ns = self._heard_at_ns = now_ns

    def used_us(self, now_ns: int) -> int:
        return self._used_at(now_ns) // NS_PER_US

    def share_wait_ns(self, share: Share, now_ns: int) -> int:
        """Return how long until this process's share lets a request pass; 0 when it does now."""
        weight = share.weight(self.burst)
        if not weight:
            return NONE_NS
        return self._time_for(self._used_at(now_ns) - (self.burst - weight) * CALL)

    def take_share(self, share: Share, now_ns: int) -> None:
        """Count a request that this process's share lets pass."""
        self._advance(now_ns)
        self._used += share.weight(self.burst) * CALL
        self._lent = self._lent_now(share, now_ns) + CALL
        self._lent_at_ns = now_ns
        self._on_lent(self)

    def try_take(self, now_ns: int) -> bool:
        """Redis has to be asked, and is asked about all levels at once."""
        return False

    def give_back(self, now_ns: int) -> None:
        """Take back a request that was counted and then not let in."""
        super().give_back(now_ns)
        if self._link.is_up:
            self._adjust(-CALL // NS_PER_US, self.used_us(now_ns) + CALL // NS_PER_US)
        else:
            self._lent = max(self._lent - CALL, 0)

    def tell_lent(self, share: Share, now_ns: int) -> None:
        """Redis is back: have it count what was counted here."""
        lent, self._lent = self._lent_now(share, now_ns), 0
        heard = max(self._heard - (now_ns - self._heard_at_ns) * self.per_minute, 0)
        if lent:
            self._adjust(lent // NS_PER_US, heard // NS_PER_US)

    def _adjust(self, amount_us: int, declared_us: int) -> None:
        self._link.tell(
            ADJUST_SCRIPT, (self.key,), self.per_minute, self.burst, declared_us, amount_us
        )

    def _lent_now(self, share: Share, now_ns: int) -> int:
        passed_ns = now_ns - self._lent_at_ns
        return max(self._lent - passed_ns * self.per_minute // share.processes, 0)
