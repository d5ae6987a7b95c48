"""How much to make, and of which kinds."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from datetime import datetime, timedelta
from itertools import accumulate

from gateway.core.money import NUSD_PER_USD

MAX_CALL_NUSD = NUSD_PER_USD // 100  # what no call that is drawn costs
SPARE_NUSD = 100 * NUSD_PER_USD
# The first workspace makes half of all calls; the next ones far less, each.
FIRST_SHARE = 0.5
SKEW = 1.5
MOST_KEYS_OF_FIRST = 1_000
LEAST_KEYS_OF_FIRST = 50


@dataclass(frozen=True, slots=True)
class Kind:
    """A model. share: of the calls, in percent. first_ms: until the first token."""

    name: str
    share: int
    input_nusd: int
    output_nusd: int
    first_ms: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """How calls end. share: of the calls, per mille. basis: of the charge."""

    status: str
    share: int
    basis: str
    http_status: int
    error_code: str
    _: KW_ONLY
    fell_back: bool = False

    @property
    def is_refused(self) -> bool:
        return self.status == "refused"

    @property
    def is_charged(self) -> bool:
        return self.basis in ("usage", "estimate")


MODELS = (
    Kind("load/large", 40, 250, 2_000, 400),
    Kind("load/small", 30, 50, 400, 200),
    Kind("load/fast", 15, 100, 600, 120),
    Kind("load/reasoning", 10, 1_000, 8_000, 2_500),
    Kind("load/long", 5, 400, 1_600, 900),
)
FALLBACK = MODELS[1]
OUTCOMES = (
    Outcome("ok", 940, "usage", 200, ""),
    Outcome("ok", 10, "usage", 200, "", fell_back=True),
    Outcome("cancelled", 10, "estimate", 499, ""),
    Outcome("partial", 3, "estimate", 200, "overloaded"),
    Outcome("upstream_error", 10, "zero_upstream", 502, "provider_unavailable"),
    Outcome("upstream_error", 5, "zero_upstream", 504, "provider_timeout"),
    Outcome("platform_aborted", 2, "zero_platform", 503, "server_restarting"),
    Outcome("refused", 15, "", 429, "rate_limit_exceeded"),
    Outcome("refused", 5, "", 402, "insufficient_credits"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPlan:
    """How much to make. Calls are spread evenly over the days before ends_at, a full hour."""

    workspaces: int
    keys: int
    calls: int
    days: int
    # Percentage of the calls whose request and response are stored.
    bodies: int
    seed: int
    ends_at: datetime

    @property
    def starts_at(self) -> datetime:
        return self.ends_at - timedelta(days=self.days)

    def keys_by_workspace(self) -> list[int]:
        """Return how many keys each workspace has; the first has most, others may have none."""
        if self.workspaces == 1:
            return [self.keys]
        least = max(1, min(LEAST_KEYS_OF_FIRST, self.keys // 2))
        first = max(least, min(self.keys // 1_000, MOST_KEYS_OF_FIRST))
        each, left = divmod(self.keys - first, self.workspaces - 1)
        return [first, *(each + (number < left) for number in range(self.workspaces - 1))]

    def shares(self) -> list[float]:
        """Return which share of the calls each workspace makes; those without keys make none."""
        weights = [
            1 / (number + 1) ** SKEW if keys else 0.0
            for number, keys in enumerate(self.keys_by_workspace()[1:])
        ]
        total = sum(weights)
        if not total:
            return [1.0, *weights]
        return [FIRST_SHARE, *((1 - FIRST_SHARE) * weight / total for weight in weights)]

    def cumulative_shares(self) -> list[float]:
        return list(accumulate(self.shares()))

    def credits_nusd(self) -> list[int]:
        """Return what each workspace is granted: more than its calls can cost."""
        return [
            SPARE_NUSD + round(2 * share * self.calls) * MAX_CALL_NUSD for share in self.shares()
        ]
