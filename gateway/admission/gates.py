"""What one key or one workspace has used of its limits on calls, and how that is told."""

from __future__ import annotations

import time
from collections.abc import Sequence
from math import ceil
from sys import maxsize
from typing import Any, NamedTuple

from gateway.admission.buckets import Bucket
from gateway.admission.slots import Slots
from gateway.core.errors import ConcurrencyLimited, RateLimited
from gateway.snapshot.types import CallLimits

NS_PER_S = 10**9


class Gate:
    """The bucket and the slots of one holder of limits, where it has such limits.

    level: who that is, in the words that callers are told.
    """

    __slots__ = ("bucket", "level", "slots")

    def __init__(self, level: str) -> None:
        self.level = level
        self.bucket: Bucket | None = None
        self.slots: Slots | None = None

    def follow(self, limits: CallLimits, now_ns: int) -> None:
        """Obey these limits from now on; what was counted stays counted."""
        bucket, slots = self.bucket, self.slots
        if limits.per_minute is None:
            self.bucket = None
        elif bucket is None:
            self.bucket = Bucket(limits.per_minute, limits.burst, now_ns)
        elif (bucket.per_minute, bucket.burst) != (limits.per_minute, limits.burst):
            bucket.change(limits.per_minute, limits.burst, now_ns)
        most = maxsize if limits.at_once is None else limits.at_once
        if slots is not None:
            if slots.most != most:
                slots.resize(most)
        elif limits.at_once is not None:
            self.slots = Slots(most)

    def is_idle(self, now_ns: int) -> bool:
        """True when forgetting the gate forgets nothing."""
        is_full = self.bucket is None or not self.bucket.full_in_ns(now_ns)
        return is_full and (self.slots is None or not (self.slots.taken or self.slots.waiting))


class Standing(NamedTuple):
    """Where a caller stands under its tightest limit on requests. limit: how many at once.
    reset_s: the second since the epoch in which nothing of it will be used any more, reset_in_s:
    how far away that is."""

    limit: int
    remaining: int
    reset_s: int
    reset_in_s: int
    per_minute: int


class Rates:
    """The limits on requests that a caller is under, for the heads of its answers."""

    __slots__ = ("_buckets",)

    def __init__(self, buckets: Sequence[Bucket]) -> None:
        self._buckets = buckets

    def standing(self) -> Standing:
        now_ns = time.monotonic_ns()
        tightest = min(self._buckets, key=lambda bucket: bucket.remaining(now_ns))
        full_in_s = tightest.full_in_ns(now_ns) / NS_PER_S
        return Standing(
            tightest.burst,
            tightest.remaining(now_ns),
            ceil(time.time() + full_in_s),
            ceil(full_in_s),
            tightest.per_minute,
        )


def too_often(gate: Gate, bucket: Bucket, model: str, now_ns: int) -> RateLimited:
    retry_after_s = bucket.wait_ns(now_ns) / NS_PER_S
    return RateLimited(
        f"{whose(gate)} may make {bucket.per_minute} calls a minute, {bucket.burst} at once.",
        details=told(gate, "requests", "minute", bucket.per_minute, bucket.burst, model),
        retry_after_s=retry_after_s,
    )


def too_many(gate: Gate, slots: Slots, model: str, words: str) -> ConcurrencyLimited:
    return ConcurrencyLimited(
        f"{whose(gate)} may have {slots.most} calls running; it has, {words}.",
        details=told(gate, "concurrent_requests", None, slots.most, slots.taken, model),
        retry_after_s=1,
    )


def whose(gate: Gate) -> str:
    return "The key" if gate.level == "token" else "The workspace"


def told(
    gate: Gate, metric: str, period: str | None, most: int, current: int, model: str
) -> dict[str, Any]:
    """Return which limit refuses a call, as details of the error (gateway contract, 7.5.3)."""
    return {
        "model_id": model,
        "level": gate.level,
        "limit": {"metric": metric, "period": period, "max": most, "per_request": False},
        "current": current,
        "requested": 1,
    }
