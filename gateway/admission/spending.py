"""What the owner of a budget may spend: what the ledger says was spent, what was spent since, and
what running calls may yet cost. Pure: it is told the time, in seconds since the epoch.
"""

from __future__ import annotations

from collections.abc import Mapping

from gateway.core.budget_owner import Level
from gateway.core.calendar import MICROS_PER_S, calendar_at
from gateway.core.errors import KeyLimitExceeded
from gateway.core.money import format_usd
from gateway.core.spent import Reading, Spent
from gateway.snapshot.types import SpendingLimits

NUSD_PER_MICRO_USD = 1_000
PERIODS = {
    "day": "daily budget",
    "week": "weekly budget",
    "month": "monthly budget",
    "total": "total budget",
}
HOLDERS: Mapping[Level, str] = {
    Level.WORKSPACE: "The workspace's",
    Level.MEMBER: "The member's",
    Level.KEY: "The API key's",
}


class BudgetExceeded(KeyLimitExceeded):
    """left_nusd: what the budget has left."""

    left_nusd = 0


class Spending:
    """One owner's.

    held_nusd: what running calls hold, counted against every limit. The hold of a call that
    began before midnight so weighs on the new day until it ends; its charge does not.
    """

    __slots__ = ("_calendar", "_kept", "_spent", "held_nusd", "is_read", "timezone")

    def __init__(self) -> None:
        self.is_read = False
        self.held_nusd = 0
        self.timezone = ""
        self._calendar = calendar_at("UTC", 0.0)
        self._spent = Spent()
        self._kept: list[tuple[int, float, int]] | None = None

    def begin_reading(self) -> None:
        """The ledger is about to be read. It will have every charge up to now; those from now on
        are kept apart until it is known which of them it had."""
        self._kept = []

    def read(self, reading: Reading) -> None:
        """Count on from what the ledger says."""
        self._spent, self.timezone = reading.spent, reading.timezone
        self._calendar = calendar_at(reading.timezone, reading.at)
        self.is_read = True
        kept, self._kept = self._kept or [], None
        for record, at, charge_nusd in kept:
            if record > reading.posted:
                self.charge(charge_nusd, at, record)

    def invalidate(self) -> None:
        """Have the ledger read again before the next call."""
        self.is_read = False
        self._kept = None

    def find_refusal(
        self, limits: SpendingLimits, want_nusd: int, now: float
    ) -> BudgetExceeded | None:
        """Return the error where a limit does not cover what a call may cost, what was spent and
        what running calls hold."""
        needed_nusd = self.held_nusd + want_nusd
        refusal: BudgetExceeded | None = None
        left_nusd = want_nusd
        for period, limit_nusd, spent_nusd in limits.by_period(self.spent(now), now):
            if limit_nusd is None or spent_nusd + needed_nusd <= limit_nusd:
                continue
            left_nusd = min(left_nusd, limit_nusd - spent_nusd - self.held_nusd)
            if refusal is None:
                refusal = self._refusal(limits, period, limit_nusd, spent_nusd, want_nusd)
        if refusal is not None:
            refusal.left_nusd = left_nusd
        return refusal

    def hold(self, want_nusd: int) -> None:
        """Set aside what a call may cost."""
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
        day, week, month, total = self.spent(at)
        calendar = self._calendar
        self._spent = Spent(
            day + charge_nusd if calendar.day.has(at) else day,
            week + charge_nusd if calendar.week.has(at) else week,
            month + charge_nusd if calendar.month.has(at) else month,
            total + charge_nusd,
        )

    def spent(self, now: float) -> Spent:
        """Return what has been spent, periods that are over left behind."""
        if round(now * MICROS_PER_S) >= self._calendar.day.ends_s * MICROS_PER_S:
            before, self._calendar = self._calendar, calendar_at(self.timezone, now)
            self._spent = self._spent._replace(
                day_nusd=0,
                week_nusd=self._spent.week_nusd if before.week == self._calendar.week else 0,
                month_nusd=self._spent.month_nusd if before.month == self._calendar.month else 0,
            )
        return self._spent

    def _refusal(
        self,
        limits: SpendingLimits,
        period: str,
        limit_nusd: int,
        spent_nusd: int,
        want_nusd: int,
    ) -> BudgetExceeded:
        level = limits.owner.level
        held_usd = format_usd(self.held_nusd)
        held = f", {held_usd} USD are held for running calls" if self.held_nusd else ""
        details: dict[str, object] = {
            "level": level.value,
            "limit": {
                "metric": "cost_micro_usd",
                "period": period,
                "max": micro_usd(limit_nusd),
                "per_request": False,
            },
            "current": micro_usd(spent_nusd + self.held_nusd),
            "requested": micro_usd(want_nusd),
        }
        if ends_at := self._calendar.ends_at(period):
            details["resets_at"] = ends_at.isoformat()
        spender = "It has" if level is not Level.MEMBER else "The member's keys have"
        return BudgetExceeded(
            f"{HOLDERS[level]} {PERIODS[period]} is {format_usd(limit_nusd)} USD. {spender} spent "
            f"{format_usd(spent_nusd)} USD{held}, and this call may cost up to "
            f"{format_usd(want_nusd)} USD.",
            details=details,
        )


def micro_usd(nusd: int) -> int:
    return -(-nusd // NUSD_PER_MICRO_USD)
