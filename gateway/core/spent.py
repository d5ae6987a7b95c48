"""What a key has spent, and the days and months (UTC) that its spending is counted in.

A call belongs to the day and the month in which it was admitted, whenever it ends: so do the
totals that pages read.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from gateway.core.time_spans import DAY, DAY_S, LONG_AGO

MICROS_PER_S = 1_000_000
DAY_US = DAY_S * MICROS_PER_S


class Spent(NamedTuple):
    """Nano-USD that a key has spent: on calls of a day, of the month of that day, and ever."""

    day_nusd: int
    month_nusd: int
    total_nusd: int


class Reading(NamedTuple):
    """What the ledger says a key has spent. at: the moment whose day and month are meant, in
    seconds since the epoch. posted: how many of this process's records the ledger had by then."""

    spent: Spent
    at: float
    posted: int


def day_of(at: float) -> int:
    """Return the day that a moment is in, counted from the epoch."""
    # Rounded as the rows of the database are, or a call just before midnight could be in two days.
    return round(at * MICROS_PER_S) // DAY_US


def start_of_day(at: float) -> datetime:
    return LONG_AGO + timedelta(days=day_of(at))


def start_of_month(at: float) -> datetime:
    return start_of_day(at).replace(day=1)


def end_of_day(at: float) -> datetime:
    """Return when the day's spending is counted from nothing again."""
    return start_of_day(at) + DAY


def end_of_month(at: float) -> datetime:
    """Return when the month's spending is counted from nothing again."""
    return (start_of_month(at) + timedelta(days=32)).replace(day=1)
