"""Numbers out of samples: percentiles of all of them, medians over rounds."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median


def percentile(samples: Sequence[float], share: float) -> float:
    """Return the sample below which `share` (0 to 1) of the others lie; 0.0 of none."""
    if not samples:
        return 0.0
    ordered = sorted(samples)
    return float(ordered[min(len(ordered) - 1, int(share * len(ordered)))])


def median_of(rounds: Sequence[dict[str, float]]) -> dict[str, float]:
    """Return the median of each figure over rounds that all have the same figures."""
    return {name: median(each[name] for each in rounds) for name in rounds[0]}
