"""Vertical scales: round numbers for ticks, labelled in the unit that suits them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from dashboard.templatetags.money import compact, usd_short
from dashboard.templatetags.timespan import duration

_TICKS = 4
_ROUND = (1, 2, 2.5, 5, 10)
_MS_US, _S_US, _MINUTE_US, _HOUR_US = 1_000, 1_000_000, 60_000_000, 3_600_000_000
# Steps between ticks of durations that are round in the unit in which they are read.
_DURATION_STEPS_US = (
    *(step * power for power in (1, 10, 100, _MS_US, 10**4, 10**5, _S_US) for step in (1, 2, 5)),
    *(step * _S_US for step in (10, 15, 30)),
    *(step * _MINUTE_US for step in (1, 2, 5, 10, 15, 30)),
    *(step * _HOUR_US for step in (1, 2, 6, 12, 24)),
)


@dataclass(frozen=True, slots=True)
class Ruler:
    """A scale fitted to some values. ticks: (value, label), lowest first."""

    ticks: Sequence[tuple[float, str]]
    is_log: bool = False

    def share(self, value: float) -> float:
        """Return how far up the axis a value lies, 0 to 1."""
        low, high = self.ticks[0][0], self.ticks[-1][0]
        if self.is_log:
            value = max(value, low)
            return log10(value / low) / log10(high / low)
        return value / high


@dataclass(frozen=True, slots=True)
class Scale:
    """How values become ticks. label: a tick's text. least: the smallest useful tick step.
    steps: what the steps between ticks may be, ascending; none for round decimal numbers.

    is_log: every tick is ten times the one below, for values far apart.
    """

    label: Callable[[float], str]
    least: float = 1
    steps: Sequence[float] = ()
    is_log: bool = False

    def fit(self, values: Iterable[float]) -> Ruler:
        """Return a ruler from zero (or, logarithmic, the lowest decade) to above the highest."""
        known = [value for value in values if value > 0]
        return self._decades(known) if self.is_log else self._even(max(known, default=0))

    def _even(self, highest: float) -> Ruler:
        rough = max(highest / _TICKS, self.least)
        size = 10.0 ** floor(log10(rough))
        steps = (size * each for each in _ROUND if size * each % self.least == 0)
        known = next((step for step in self.steps if step >= rough * (1 - 1e-9)), None)
        step = known or next(step for step in steps if step >= rough * (1 - 1e-9))
        count = max(1, ceil(highest / step - 1e-9))
        return Ruler([self._tick(step * i) for i in range(count + 1)])

    def _decades(self, values: Sequence[float]) -> Ruler:
        first = floor(log10(min(values, default=1)))
        last = max(ceil(log10(max(values, default=1))), first + 1)
        return Ruler([self._tick(10.0**each) for each in range(first, last + 1)], is_log=True)

    def _tick(self, value: float) -> tuple[float, str]:
        return value, self.label(value)


def show_count(count: float) -> str:
    return compact(round(count))


def show_usd(amount_nusd: float) -> str:
    return usd_short(round(amount_nusd))


def _duration_label(duration_us: float) -> str:
    """Return one number with one unit: 90 s, not 1 min 30 s."""
    if not duration_us:
        return "0"
    for unit_us, unit in ((_HOUR_US, "h"), (_MINUTE_US, "min")):
        if duration_us >= unit_us and duration_us % unit_us == 0:
            return f"{duration_us / unit_us:,.0f} {unit}"
    if duration_us >= _MINUTE_US:
        return f"{duration_us / _S_US:,.0f} s"
    return duration(duration_us)


def _usd_label(amount_nusd: float) -> str:
    return show_usd(amount_nusd) if amount_nusd else "$0"


COUNTS = Scale(show_count)
DURATIONS = Scale(_duration_label, steps=_DURATION_STEPS_US)
LOG_DURATIONS = Scale(_duration_label, is_log=True)
MONEY = Scale(_usd_label)
