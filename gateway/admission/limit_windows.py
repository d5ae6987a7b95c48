"""How long the period of a rule is, and where its calendar windows begin. Pure.

Moments are microseconds since the epoch.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

US_PER_S = 1_000_000
# Of rolling and sliding windows and of buckets; a month is 30 days there.
PERIOD_US = {
    "second": US_PER_S,
    "minute": 60 * US_PER_S,
    "hour": 3_600 * US_PER_S,
    "day": 86_400 * US_PER_S,
    "week": 7 * 86_400 * US_PER_S,
    "month": 30 * 86_400 * US_PER_S,
}
# Fixed windows of these are those of the calendar; shorter ones are counted from the epoch.
OF_THE_CALENDAR = frozenset({"day", "week", "month"})


def window_around(period: str, timezone: str, at_us: int) -> tuple[int, int]:
    """Return when the fixed window that a moment is in begins and ends."""
    if period not in OF_THE_CALENDAR:
        length = PERIOD_US[period]
        start = at_us - at_us % length
        return start, start + length
    zone = _zone(timezone)
    day = datetime.fromtimestamp(at_us // US_PER_S, zone).replace(tzinfo=None)
    midnight = day.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    if period == "day":
        first, after = midnight, midnight + timedelta(days=1)
    elif period == "week":
        first = midnight - timedelta(days=midnight.weekday())
        after = first + timedelta(days=7)
    else:
        first = midnight.replace(day=1)
        after = (first + timedelta(days=32)).replace(day=1)
    return _micros(first, zone), _micros(after, zone)


def _micros(local: datetime, zone: ZoneInfo) -> int:
    # By UTC: a difference of two moments of one zone is that of its clocks.
    moment = local.replace(tzinfo=zone).astimezone(UTC)
    return int(moment.timestamp()) * US_PER_S


@lru_cache(maxsize=1024)
def _zone(timezone: str) -> ZoneInfo:
    return ZoneInfo(timezone)
