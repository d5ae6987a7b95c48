"""The control that chooses a period, and what it puts into URLs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from gateway.core.time_spans import DAY_S, HOUR_S, MINUTE_S
from gateway.selectors.periods import NAMED_PERIODS, Period, is_reversed, read_period

REVERSED = "The end must be after the start."
_INPUT_CHARS = 16  # 2026-01-31T23:59
# Periods of a fixed length. Others start where their name says.
_ROUNDED = ("1h", "24h", "7d", "30d")
_SHORT = {"1h": "1 h", "today": "Today", "24h": "24 h", "7d": "7 d", "30d": "30 d"}


@dataclass(frozen=True, slots=True)
class Choice:
    """One segment of the control."""

    name: str
    words: str
    label: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class PeriodChoice:
    """The period in view and the others one can pick. query: the period's own part of a URL.

    error: why the dates that were asked for are refused; then `given` has them as they were, and
    the period is another one, of which nothing is to be shown.
    """

    period: Period
    choices: Sequence[Choice]
    query: str
    error: str = ""
    given: tuple[str, str] = ("", "")

    @property
    def is_custom(self) -> bool:
        return self.period.name == "custom"

    @property
    def heading(self) -> str:
        """The period's label, with the step that its start is rounded to: "Last 24 hours" are up to
        a step shorter."""
        label = self.period.label
        if self.period.name not in _ROUNDED:
            return label
        return f"{label}, rounded to {_step(self.period.step_s)}"

    @property
    def words(self) -> str:
        """The stretch in full, in UTC."""
        return f"{_moment(self.period.starts_at)} to {_moment(self.period.ends_at)} UTC"

    @property
    def starts_input(self) -> str:
        """The start as an input of type datetime-local takes it."""
        return self.given[0] if self.error else f"{self.period.starts_at:%Y-%m-%dT%H:%M}"

    @property
    def ends_input(self) -> str:
        return self.given[1] if self.error else f"{self.period.ends_at:%Y-%m-%dT%H:%M}"


def choose_period(query: Mapping[str, str], *, now: datetime) -> PeriodChoice:
    """Return the period that a query string asks for, with the control around it."""
    if is_reversed(query, now=now):
        given = _as_input(query["from"], "T00:00"), _as_input(query.get("to", ""), "T23:59")
        return replace(choose_period({}, now=now), error=REVERSED, given=given)
    period = read_period(query, now=now)
    choices = [
        Choice(name, _SHORT[name], label, name == period.name)
        for name, (label, _, _) in NAMED_PERIODS.items()
    ]
    if period.name == "custom":
        own = f"from={period.starts_at:%Y-%m-%dT%H:%M}&to={period.ends_at:%Y-%m-%dT%H:%M}"
    else:
        own = f"period={period.name}"
    return PeriodChoice(period, choices, own)


def _as_input(text: str, time_of_day: str) -> str:
    """Return a moment of a URL as an input of type datetime-local takes it."""
    text = text.strip()[:_INPUT_CHARS]
    return f"{text}{time_of_day}" if text and "T" not in text and " " not in text else text


def _step(step_s: int) -> str:
    if step_s < HOUR_S:
        return f"{step_s // MINUTE_S} min"
    return f"{step_s // HOUR_S} h" if step_s < DAY_S else "whole days"


def _moment(moment: datetime) -> str:
    return f"{moment:%-d %b %Y, %H:%M}"
