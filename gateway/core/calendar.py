"""The days, weeks and months that spending is counted in.

They begin at midnight in a time zone, weeks on Monday. Every midnight begins a quarter of an hour
of UTC, in every time zone there is: so the totals of quarters add up to days exactly.
"""

from __future__ import annotations

import logging
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from gateway.core.time_spans import QUARTER_S

logger = logging.getLogger(__name__)

UTC_NAME = "UTC"
MICROS_PER_S = 1_000_000
_DAY = timedelta(days=1)


class Span(NamedTuple):
    """From starts_s up to, not including, ends_s; seconds since the epoch."""

    starts_s: int
    ends_s: int

    def has(self, at: float) -> bool:
        # Rounded as the rows of the database are, or a call just before midnight could be in two
        # days.
        return self.starts_s <= round(at * MICROS_PER_S) / MICROS_PER_S < self.ends_s

    @property
    def starts_at(self) -> datetime:
        return datetime.fromtimestamp(self.starts_s, UTC)

    @property
    def ends_at(self) -> datetime:
        return datetime.fromtimestamp(self.ends_s, UTC)


class Calendar(NamedTuple):
    """The day, the week and the month of a moment."""

    day: Span
    week: Span
    month: Span

    def ends_at(self, period: str) -> datetime | None:
        """Return when a period is over; None for the total, which never is."""
        if period == "total":
            return None
        spans = {"day": self.day, "week": self.week, "month": self.month}
        return spans[period].ends_at


def calendar_at(timezone: str, at: float) -> Calendar:
    """Return the calendar of a moment. timezone: a name such as Europe/Berlin."""
    return _calendar(timezone, round(at * MICROS_PER_S) // (QUARTER_S * MICROS_PER_S))


@lru_cache(maxsize=4_096)
def _calendar(timezone: str, quarter: int) -> Calendar:
    zone = find_zone(timezone)
    day = datetime.fromtimestamp(quarter * QUARTER_S, zone).date()
    monday = day - timedelta(days=day.weekday())
    first = day.replace(day=1)
    next_first = (first + timedelta(days=32)).replace(day=1)
    return Calendar(
        _span(day, day + _DAY, zone),
        _span(monday, monday + timedelta(days=7), zone),
        _span(first, next_first, zone),
    )


@lru_cache(maxsize=1_024)
def find_zone(name: str) -> tzinfo:
    """Return the time zone; UTC where this machine does not know it any more."""
    try:
        return UTC if name == UTC_NAME else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        logger.error("The time zone %r is unknown here: days begin at midnight UTC.", name)
        return UTC


def _span(first: date, last: date, zone: tzinfo) -> Span:
    return Span(_start_of(first, zone), _start_of(last, zone))


def _start_of(day: date, zone: tzinfo) -> int:
    """Return the first moment of a day. Where clocks go forward at midnight, it is later."""
    start_s = int(datetime(day.year, day.month, day.day, tzinfo=zone).timestamp())
    while datetime.fromtimestamp(start_s - QUARTER_S, zone).date() >= day:
        start_s -= QUARTER_S
    return start_s
