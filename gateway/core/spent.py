"""What the owner of a budget has spent.

A call belongs to the day, the week and the month in which it was admitted, whenever it ends: so do
the totals that pages read.
"""

from __future__ import annotations

from typing import NamedTuple


class Spent(NamedTuple):
    """Nano-USD spent on calls of a day, of its week and its month (gateway.core.calendar), and
    ever."""

    day_nusd: int = 0
    week_nusd: int = 0
    month_nusd: int = 0
    total_nusd: int = 0


class Reading(NamedTuple):
    """What the ledger says. at: the moment whose day, week and month are meant, in seconds since
    the epoch. posted: how many of this process's records the ledger had by then."""

    spent: Spent
    at: float
    posted: int
    timezone: str = "UTC"
