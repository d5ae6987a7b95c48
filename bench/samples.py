"""Numbers out of samples: percentiles of all of them, medians over rounds."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean, median, stdev

Figures = dict[str, float]


def percentile(samples: Sequence[float], share: float) -> float:
    """Return the sample below which `share` (0 to 1) of the others lie; 0.0 of none."""
    if not samples:
        return 0.0
    ordered = sorted(samples)
    return float(ordered[min(len(ordered) - 1, int(share * len(ordered)))])


def median_of(rounds: Sequence[Figures]) -> Figures:
    """Return the median of each figure over rounds that all have the same figures."""
    return {name: median(each[name] for each in rounds) for name in rounds[0]}


def ratios_of(rounds: Sequence[Figures], base: Sequence[Figures]) -> Figures:
    """Return for each figure the median of what a round has as a multiple of the round beside it.

    Rounds that were measured one after the other share what other programs do at that moment, so
    their ratio differs less from pair to pair than the figures themselves.
    """
    return {
        name: median(ours[name] / theirs[name] for ours, theirs in zip(rounds, base, strict=True))
        for name in rounds[0]
        if all(theirs[name] for theirs in base)
    }


def mean_of(each: Sequence[Figures]) -> Figures:
    """Return the mean of each figure that all have."""
    return {name: mean(one[name] for one in each) for name in _common(each)}


def error_of(each: Sequence[Figures]) -> Figures:
    """Return the standard error of each mean; none of fewer than two."""
    if len(each) < 2:
        return {}
    return {name: stdev(one[name] for one in each) / len(each) ** 0.5 for name in _common(each)}


def _common(each: Sequence[Figures]) -> list[str]:
    """Return the figures that all have: a ratio to nothing is left out."""
    return [name for name in each[0] if all(name in one for one in each)]
