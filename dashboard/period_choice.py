"""The control that chooses a period, and what it puts into URLs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from gateway.selectors.periods import NAMED_PERIODS, Period, read_period

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
    """The period in view and the others one can pick. query: the period's own part of a URL."""

    period: Period
    choices: Sequence[Choice]
    query: str

    @property
    def is_custom(self) -> bool:
        return self.period.name == "custom"

    @property
    def words(self) -> str:
        """The stretch in full, in UTC."""
        return f"{_moment(self.period.starts_at)} to {_moment(self.period.ends_at)} UTC"

    @property
    def starts_input(self) -> str:
        """The start as an input of type datetime-local takes it."""
        return f"{self.period.starts_at:%Y-%m-%dT%H:%M}"

    @property
    def ends_input(self) -> str:
        return f"{self.period.ends_at:%Y-%m-%dT%H:%M}"


def choose_period(query: Mapping[str, str], *, now: datetime) -> PeriodChoice:
    """Return the period that a query string asks for, with the control around it."""
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


def _moment(moment: datetime) -> str:
    return f"{moment:%-d %b %Y, %H:%M}"
