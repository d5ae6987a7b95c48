"""Vertical scales: round numbers for ticks, labelled in the unit that suits them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, floor, log10

from dashboard.templatetags.money import compact, usd_short
from dashboard.templatetags.timespan import duration

_TICKS = 4
_ROUND = (1, 2, 2.5, 5, 10)


@dataclass(frozen=True, slots=True)
class Scale:
    """How values become ticks. label: a tick's text. least: the smallest useful tick step."""

    label: Callable[[float], str]
    least: float

    def top(self, highest: float) -> float:
        """Return the end of the axis: the first tick at or above the highest value."""
        step = self._step(highest)
        return step * max(1, ceil(highest / step - 1e-9))

    def ticks(self, top: float) -> list[tuple[float, str]]:
        """Return (value, label) from zero to the top."""
        step = self._step(top)
        return [(step * i, self.label(step * i)) for i in range(round(top / step) + 1)]

    def _step(self, highest: float) -> float:
        rough = max(highest / _TICKS, self.least)
        size = 10.0 ** floor(log10(rough))
        steps = (size * each for each in _ROUND if size * each % self.least == 0)
        return next(step for step in steps if step >= rough * (1 - 1e-9))


def show_count(count: float) -> str:
    return compact(round(count))


def show_usd(amount_nusd: float) -> str:
    return usd_short(round(amount_nusd))


def _duration_label(duration_us: float) -> str:
    return duration(duration_us) if duration_us else "0"


def _usd_label(amount_nusd: float) -> str:
    return show_usd(amount_nusd) if amount_nusd else "$0"


COUNTS = Scale(show_count, least=1)
DURATIONS = Scale(_duration_label, least=1)
MONEY = Scale(_usd_label, least=1)
