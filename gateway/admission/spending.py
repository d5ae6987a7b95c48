"""What a key may spend: what the ledger says it has spent, what it has spent since, and what its
running calls may yet cost. Pure: it is told the time, in seconds since the epoch.
"""

from __future__ import annotations

from datetime import datetime

from gateway.core.errors import KeyLimitExceeded
from gateway.core.money import format_usd
from gateway.core.spent import Reading, Spent, day_of, end_of_day, end_of_month, start_of_month
from gateway.snapshot.types import SpendingLimits

NUSD_PER_MICRO_USD = 1_000
WORDS = {"day": "daily budget", "month": "monthly budget", "total": "total budget"}


class Spending:
    """One key's.

    held_nusd: what running calls hold, counted against every limit. The hold of a call that
    began before midnight so weighs on the new day until it ends; its charge does not.
    """

    __slots__ = ("_at", "_kept", "_spent", "held_nusd", "is_read")

    def __init__(self) -> None:
        self.is_read = False
        self.held_nusd = 0
        self._at = 0.0
        self._spent = Spent(0, 0, 0)
        self._kept: list[tuple[int, float, int]] | None = None

    def begin_reading(self) -> None:
        """The ledger is about to be read. It will have every charge up to now; those from now on
        are kept apart until it is known which of them it had."""
        self._kept = []

    def read(self, reading: Reading) -> None:
        """Count on from what the ledger says."""
        self._spent, self._at = reading.spent, reading.at
        self.is_read = True
        kept, self._kept = self._kept or [], None
        for record, at, charge_nusd in kept:
            if record > reading.posted:
                self.charge(charge_nusd, at, record)

    def invalidate(self) -> None:
        """Have the ledger read again before the next call."""
        self.is_read = False
        self._kept = None

    def add_hold(self, limits: SpendingLimits, want_nusd: int, now: float) -> None:
        """Set aside what a call may cost. Raises KeyLimitExceeded when a limit does not cover it,
        what the key has spent and what its running calls hold."""
        spent = self.spent(now)
        since_reset_nusd = spent.total_nusd - limits.total_baseline_nusd
        for period, limit_nusd, spent_nusd in (
            ("day", limits.daily_nusd, spent.day_nusd),
            ("month", limits.monthly_nusd, spent.month_nusd),
            ("total", limits.total_nusd, since_reset_nusd),
        ):
            if limit_nusd is not None and spent_nusd + self.held_nusd + want_nusd > limit_nusd:
                raise self._refusal(period, limit_nusd, spent_nusd, want_nusd, now)
        self.held_nusd += want_nusd

    def release(self, hold_nusd: int) -> None:
        """End a call's hold."""
        self.held_nusd -= hold_nusd

    def charge(self, charge_nusd: int, at: float, record: int) -> None:
        """Count what a call has cost. at: when it was admitted. record: the number of the record
        that says so, among this process's."""
        if not self.is_read:
            if self._kept is not None:
                self._kept.append((record, at, charge_nusd))
            return
        day, month, total = self.spent(max(at, self._at))
        is_of_day = day_of(at) == day_of(self._at)
        is_of_month = start_of_month(at) == start_of_month(self._at)
        self._spent = Spent(
            day + (charge_nusd if is_of_day else 0),
            month + (charge_nusd if is_of_month else 0),
            total + charge_nusd,
        )

    def spent(self, now: float) -> Spent:
        """Return what has been spent, days and months that are over left behind."""
        if day_of(now) > day_of(self._at):
            is_same_month = start_of_month(now) == start_of_month(self._at)
            month_nusd = self._spent.month_nusd if is_same_month else 0
            self._spent = Spent(0, month_nusd, self._spent.total_nusd)
            self._at = now
        return self._spent

    def _refusal(
        self, period: str, limit_nusd: int, spent_nusd: int, want_nusd: int, now: float
    ) -> KeyLimitExceeded:
        held_usd = format_usd(self.held_nusd)
        held = f", {held_usd} USD are held for running calls" if self.held_nusd else ""
        details: dict[str, object] = {
            "level": "token",
            "limit": {
                "metric": "cost_micro_usd",
                "period": period,
                "max": _micro_usd(limit_nusd),
                "per_request": False,
            },
            "current": _micro_usd(spent_nusd + self.held_nusd),
            "requested": _micro_usd(want_nusd),
        }
        if ends := _end(period, now):
            details["resets_at"] = ends.isoformat()
        return KeyLimitExceeded(
            f"The API key's {WORDS[period]} is {format_usd(limit_nusd)} USD. It has spent "
            f"{format_usd(spent_nusd)} USD{held}, and this call may cost up to "
            f"{format_usd(want_nusd)} USD.",
            details=details,
        )


def _end(period: str, now: float) -> datetime | None:
    if period == "total":
        return None
    return end_of_day(now) if period == "day" else end_of_month(now)


def _micro_usd(nusd: int) -> int:
    return -(-nusd // NUSD_PER_MICRO_USD)
