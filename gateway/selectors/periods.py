"""The stretch of time a page is about: named or from the URL, cut into steps for its charts.

Rollups are kept per quarter of an hour, so every period starts on a quarter. All times are UTC.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from gateway.core.time_spans import DAY, DAY_S, HOUR_S, QUARTER_S, round_down

MAX_CUSTOM_DAYS = 366
DEFAULT_PERIOD = "24h"

# name: (words for people, length in seconds, step of its charts in seconds)
NAMED_PERIODS: dict[str, tuple[str, int, int]] = {
    "1h": ("Last hour", HOUR_S, QUARTER_S),
    "today": ("Today", DAY_S, 2 * QUARTER_S),
    "24h": ("Last 24 hours", DAY_S, 2 * QUARTER_S),
    "7d": ("Last 7 days", 7 * DAY_S, 3 * HOUR_S),
    "30d": ("Last 30 days", 30 * DAY_S, DAY_S),
}
_STEPS_S = (QUARTER_S, 2 * QUARTER_S, HOUR_S, 3 * HOUR_S, 6 * HOUR_S, DAY_S, 7 * DAY_S)
_MAX_STEPS = 60
_EARLIEST_YEAR, _LATEST_YEAR = 2000, 2200  # what a UUIDv7 and a calendar both take with ease


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """From starts_at (on a quarter of an hour) up to, not including, ends_at."""

    # As in the URL.
    name: str
    label: str
    starts_at: datetime
    ends_at: datetime
    # How far back the period before this one lies.
    length_s: int
    step_s: int

    @property
    def steps(self) -> int:
        """How many bars a chart of this period has, the running one included."""
        covered_s = (self.ends_at - self.starts_at).total_seconds()
        return max(1, -(-int(covered_s) // self.step_s))

    def step_starts(self) -> list[datetime]:
        return [self.starts_at + timedelta(seconds=self.step_s * i) for i in range(self.steps)]

    def previous(self) -> Period:
        """The period just before, up to the same moment in it, so that the two compare fairly."""
        shift = timedelta(seconds=self.length_s)
        return Period(
            name=self.name,
            label=f"Before: {self.label.lower()}",
            starts_at=self.starts_at - shift,
            ends_at=self.ends_at - shift,
            length_s=self.length_s,
            step_s=self.step_s,
        )


def read_period(query: Mapping[str, str], *, now: datetime) -> Period:
    """Return the period that the query string names: `period`, or `from` and `to`.

    Anything unreadable falls back to the last 24 hours: a URL that was edited by hand still
    gives a page.
    """
    if query.get("from") and query.get("period", "custom") == "custom":
        custom = _custom_period(query["from"], query.get("to", ""), now=now)
        if custom is not None:
            return custom
    name = query.get("period", DEFAULT_PERIOD)
    return named_period(name if name in NAMED_PERIODS else DEFAULT_PERIOD, now=now)


def is_reversed(query: Mapping[str, str], *, now: datetime) -> bool:
    """True when `from` and `to` can both be read, and the period would end before it begins.
    Without `to` a period ends now."""
    if not query.get("from") or query.get("period", "custom") != "custom":
        return False
    starts_at, ends_at = _ends(query["from"], query.get("to", ""), now)
    return starts_at is not None and ends_at is not None and ends_at <= starts_at


def named_period(name: str, *, now: datetime) -> Period:
    """Return the period of that name that ends now. Raises KeyError for an unknown name."""
    label, length_s, step_s = NAMED_PERIODS[name]
    if name == "today":
        starts_at = round_down(now, DAY_S)
    else:
        starts_at = round_down(now, step_s) - timedelta(seconds=length_s - step_s)
    return Period(
        name=name,
        label=label,
        starts_at=starts_at,
        ends_at=now,
        length_s=length_s,
        step_s=step_s,
    )


def _custom_period(start: str, end: str, *, now: datetime) -> Period | None:
    starts_at, ends_at = _ends(start, end, now)
    if starts_at is None or ends_at is None or ends_at <= starts_at:
        return None
    if ends_at - starts_at > timedelta(days=MAX_CUSTOM_DAYS):
        starts_at = ends_at - timedelta(days=MAX_CUSTOM_DAYS)
    length_s = int((ends_at - starts_at).total_seconds())
    step_s = next((s for s in _STEPS_S if length_s <= s * _MAX_STEPS), _STEPS_S[-1])
    starts_at = round_down(starts_at, min(step_s, DAY_S))
    ends_at = round_down(ends_at + timedelta(seconds=QUARTER_S - 1), QUARTER_S)
    length_s = int((ends_at - starts_at).total_seconds())
    return Period(
        name="custom",
        label="Chosen period",
        starts_at=starts_at,
        ends_at=ends_at,
        length_s=length_s,
        step_s=step_s,
    )


def _ends(start: str, end: str, now: datetime) -> tuple[datetime | None, datetime | None]:
    return read_moment(start), read_moment(end, end_of_day=True) if end else now


def read_moment(text: str, *, end_of_day: bool = False) -> datetime | None:
    """Return the moment that an ISO date or date and time means in UTC, or None.

    end_of_day: a bare date means the end of that day instead of its start.
    """
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    if not _EARLIEST_YEAR <= moment.year <= _LATEST_YEAR:
        return None
    moment = moment.astimezone(UTC)
    return moment + DAY if end_of_day and len(text.strip()) <= 10 else moment


def floor_to_quarter(moment: datetime) -> datetime:
    return round_down(moment, QUARTER_S)
