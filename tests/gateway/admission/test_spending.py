"""What a key may spend, counted in memory: never less than the ledger, and by the calendar."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import count
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounts.budgets import list_timezones
from gateway.admission.spending import Spending
from gateway.core.budget_owner import key_owner, member_owner
from gateway.core.calendar import calendar_at
from gateway.core.spent import Reading, Spent
from gateway.core.time_spans import QUARTER_S
from gateway.snapshot.types import SpendingLimits

MORNING = datetime(2026, 11, 30, 9, tzinfo=UTC).timestamp()
LATE = datetime(2026, 11, 30, 23, 59, 59, tzinfo=UTC).timestamp()
NEXT_MONTH = datetime(2026, 12, 1, tzinfo=UTC).timestamp()
DAY_S = 86_400


OWNER = key_owner("key", "workspace")


def read(*spent: int, at: float = MORNING, timezone: str = "UTC") -> Spending:
    """spent: of the day, the month and ever."""
    spending = Spending()
    day, month, total = spent
    reading = Reading(Spent(day, day, month, total), at, 0, timezone)
    spending.read(reading)
    return spending


def limits(
    daily: int | None = None,
    monthly: int | None = None,
    total: int | None = None,
    baseline: int = 0,
    weekly: int | None = None,
) -> SpendingLimits:
    return SpendingLimits(
        OWNER,
        daily_nusd=daily,
        weekly_nusd=weekly,
        monthly_nusd=monthly,
        total_nusd=total,
        total_baseline_nusd=baseline,
    )


def is_refused(spending: Spending, limit: SpendingLimits, want: int, at: float = MORNING) -> str:
    """Return the period whose limit refuses the call, empty when none does."""
    refusal = spending.find_refusal(limit, want, at)
    if refusal is None:
        spending.hold(want)
        return ""
    return str(refusal.details["limit"]["period"])


@pytest.mark.parametrize(
    ("limit", "refused"),
    [
        (limits(daily=110), ""),
        (limits(daily=109), "day"),
        (limits(monthly=210), ""),
        (limits(monthly=209), "month"),
        (limits(total=310), ""),
        (limits(total=309), "total"),
        (limits(total=10, baseline=300), ""),
        (limits(total=9, baseline=300), "total"),
        (limits(1, 1, 1), "day"),
        (limits(), ""),
    ],
)
def test_spent_and_wanted_must_fit_together(limit: SpendingLimits, refused: str) -> None:
    assert is_refused(read(100, 200, 300), limit, 10) == refused


def test_what_is_held_counts_until_it_is_known_what_it_costs() -> None:
    spending = read(0, 0, 0)
    spending.hold(60)

    assert is_refused(spending, limits(daily=100), 41) == "day"

    spending.charge(10, MORNING, 1)
    spending.release(60)
    assert is_refused(spending, limits(daily=100), 90) == ""
    assert is_refused(spending, limits(daily=100), 1) == "day"


def test_days_and_months_begin_at_midnight_in_utc() -> None:
    spending = read(50, 70, 90, at=LATE)

    assert is_refused(spending, limits(daily=50), 1, LATE) == "day"
    assert spending.spent(NEXT_MONTH) == Spent(0, 50, 0, 90)
    assert is_refused(spending, limits(daily=50, monthly=50), 50, NEXT_MONTH) == ""


def test_a_new_day_of_the_same_month_keeps_the_months_sum() -> None:
    assert read(50, 70, 90, at=MORNING - DAY_S).spent(MORNING) == Spent(0, 0, 70, 90)


def test_weeks_begin_on_monday() -> None:
    sunday = MORNING - DAY_S
    spending = read(50, 70, 90, at=sunday)

    assert is_refused(spending, limits(weekly=50), 1, sunday) == "week"
    assert is_refused(spending, limits(weekly=50), 50, MORNING) == ""
    assert spending.spent(NEXT_MONTH).week_nusd == 0


def test_days_begin_at_midnight_in_the_time_zone() -> None:
    midnight = datetime(2026, 11, 30, tzinfo=ZoneInfo("Asia/Kathmandu")).timestamp()
    spending = read(50, 70, 90, at=midnight - 1, timezone="Asia/Kathmandu")

    assert spending.spent(midnight - 0.1) == Spent(50, 50, 70, 90)
    assert spending.spent(midnight) == Spent(0, 0, 70, 90)
    spending.charge(3, midnight - 0.1, 1)
    assert spending.spent(midnight) == Spent(0, 0, 73, 93)


def test_the_refusal_says_whose_limit_it_is_and_when_it_resets() -> None:
    owner = member_owner(7, "00000000-0000-4000-8000-000000000000")
    zone = ZoneInfo("America/Havana")
    now = datetime(2026, 11, 1, 0, 30, tzinfo=zone)  # clocks go back at 1:00

    refusal = read(0, 90, 0, at=now.timestamp(), timezone=zone.key).find_refusal(
        SpendingLimits(owner, monthly_nusd=100, timezone=zone.key), 11, now.timestamp()
    )

    assert refusal is not None
    assert refusal.details["level"] == "user"
    assert refusal.details["limit"]["period"] == "month"
    assert refusal.details["resets_at"] == "2026-12-01T05:00:00+00:00"


def test_a_call_counts_for_the_day_it_began_in() -> None:
    spending = read(0, 0, 0, at=LATE)
    spending.hold(60)
    assert spending.spent(NEXT_MONTH) == Spent()

    spending.charge(40, LATE, 1)
    spending.charge(5, NEXT_MONTH, 2)

    assert spending.spent(NEXT_MONTH) == Spent(5, 45, 5, 45)


def test_a_clock_that_is_put_back_forgets_nothing() -> None:
    spending = read(10, 10, 10, at=NEXT_MONTH)

    assert spending.spent(LATE) == Spent(10, 10, 10, 10)


charges = st.lists(st.integers(1, 100), max_size=12)


@given(before=charges, during=charges, posted=st.integers(0, 24), after=charges)
def test_every_charge_is_counted_once_whenever_the_ledger_is_read(
    before: list[int], during: list[int], posted: int, after: list[int]
) -> None:
    """Records are numbered in order; the ledger has the first of them when it is read, all from
    before the question among them."""
    numbers = count(1)
    spending = Spending()
    told = [(next(numbers), nusd) for nusd in before]
    for number, nusd in told:
        spending.charge(nusd, MORNING, number)
    spending.begin_reading()
    for nusd in during:
        told.append((next(numbers), nusd))
        spending.charge(nusd, MORNING, told[-1][0])
    has = max(len(before), min(posted, len(told)))
    in_ledger = sum(nusd for number, nusd in told if number <= has)

    spending.read(Reading(Spent(*[in_ledger] * 4), MORNING, has))
    for nusd in after:
        spending.charge(nusd, MORNING, next(numbers))

    total = sum(before) + sum(during) + sum(after)
    assert spending.spent(MORNING) == Spent(total, total, total, total)


@given(
    st.datetimes(datetime(2020, 1, 1), datetime(2037, 12, 31)),
    st.sampled_from(list_timezones()),
)
def test_the_calendar_is_that_of_the_time_zone(moment: datetime, name: str) -> None:
    zone = ZoneInfo(name)
    at = moment.replace(tzinfo=UTC).timestamp()
    today = datetime.fromtimestamp(at, zone).date()

    calendar = calendar_at(name, at)

    monday = today - timedelta(days=today.weekday())
    first = today.replace(day=1)
    for span, start in ((calendar.day, today), (calendar.week, monday), (calendar.month, first)):
        assert span.has(at)
        # Totals of quarters of an hour add up to it.
        assert span.starts_s % QUARTER_S == span.ends_s % QUARTER_S == 0
        assert span.starts_at.astimezone(zone).date() == start
        before = datetime.fromtimestamp(span.starts_s - 1, zone).date()
        assert before == start - timedelta(days=1)
        assert calendar_at(name, span.ends_s).day.starts_s == span.ends_s
