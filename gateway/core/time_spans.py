"""Spans of time: those that totals are kept for, and what is before and after all that there is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

MINUTE_S = 60
QUARTER_S = 15 * MINUTE_S  # of an hour
HOUR_S = 60 * MINUTE_S
DAY_S = 24 * HOUR_S
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
FAR_AHEAD = datetime(3000, 1, 1, tzinfo=UTC)


def round_down(moment: datetime, span_s: int) -> datetime:
    """Return when the span that the moment is in begins. Spans are counted from the epoch."""
    seconds = int(moment.timestamp())
    return datetime.fromtimestamp(seconds - seconds % span_s, tz=UTC)


def round_up(moment: datetime, span_s: int) -> datetime:
    """Return the moment itself where a span begins, else when the next one does."""
    down = round_down(moment, span_s)
    return down if down == moment else down + timedelta(seconds=span_s)
