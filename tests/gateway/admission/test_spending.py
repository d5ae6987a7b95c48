"""What a key may spend, counted in memory: never less than the ledger, and by the calendar."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.admission.spending import Spending
from gateway.core.errors import KeyLimitExceeded
from gateway.core.spent import Reading, Spent, day_of, end_of_day, end_of_month, start_of_month
from gateway.snapshot.types import SpendingLimits

MORNING = datetime(2026, 11, 30, 9, tzinfo=UTC).timestamp()
LATE = datetime(2026, 11, 30, 23, 59, 59, tzinfo=UTC).timestamp()
NEXT_MONTH = datetime(2026, 12, 1, tzinfo=UTC).timestamp()
DAY_S = 86_400


def read(*spent: int, at: float = MORNING) -> Spending:
    spending = Spending()
    spending.read(Reading(Spent(*spent), at, posted=0))
    return spending


def limits(
    daily: int | None = None,
    monthly: int | None = None,
    total: int | None = None,
    baseline: int = 0,
) -> SpendingLimits:
    return SpendingLimits(daily, monthly, total, baseline)


def is_refused(spending: Spending, limit: SpendingLimits, want: int, at: float = MORNING) -> str:
    """Return the period whose limit refuses the call, empty when none does."""
    try:
        spending.add_hold(limit, want, at)
    except KeyLimitExceeded as refusal:
        return str(refusal.details["limit"]["period"])
    return ""


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
    spending.add_hold(limits(daily=100), 60, MORNING)

    assert is_refused(spending, limits(daily=100), 41) == "day"

    spending.charge(10, MORNING, 1)
    spending.release(60)
    assert is_refused(spending, limits(daily=100), 90) == ""
    assert is_refused(spending, limits(daily=100), 1) == "day"


def test_days_and_months_begin_at_midnight_in_utc() -> None:
    spending = read(50, 70, 90, at=LATE)

    assert is_refused(spending, limits(daily=50), 1, LATE) == "day"
    assert spending.spent(NEXT_MONTH) == Spent(0, 0, 90)
    assert is_refused(spending, limits(daily=50, monthly=50), 50, NEXT_MONTH) == ""


def test_a_new_day_of_the_same_month_keeps_the_months_sum() -> None:
    assert read(50, 70, 90, at=MORNING - DAY_S).spent(MORNING) == Spent(0, 70, 90)


def test_a_call_counts_for_the_day_it_began_in() -> None:
    spending = read(0, 0, 0, at=LATE)
    spending.add_hold(limits(daily=100), 60, LATE)
    assert spending.spent(NEXT_MONTH) == Spent(0, 0, 0)

    spending.charge(40, LATE, 1)
    spending.charge(5, NEXT_MONTH, 2)

    assert spending.spent(NEXT_MONTH) == Spent(5, 5, 45)


def test_a_clock_that_is_put_back_forgets_nothing() -> None:
    spending = read(10, 10, 10, at=NEXT_MONTH)

    assert spending.spent(LATE) == Spent(10, 10, 10)


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

    spending.read(Reading(Spent(in_ledger, in_ledger, in_ledger), MORNING, has))
    for nusd in after:
        spending.charge(nusd, MORNING, next(numbers))

    total = sum(before) + sum(during) + sum(after)
    assert spending.spent(MORNING) == Spent(total, total, total)


@given(st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1)))
def test_the_calendar_is_that_of_utc(moment: datetime) -> None:
    at = moment.replace(tzinfo=UTC).timestamp()

    assert end_of_day(at).date().toordinal() == moment.date().toordinal() + 1
    assert day_of(at) == moment.date().toordinal() - datetime(1970, 1, 1).toordinal()
    assert (start_of_month(at).year, start_of_month(at).month) == (moment.year, moment.month)
    assert end_of_month(at).day == 1
    assert 28 <= (end_of_month(at) - start_of_month(at)).days <= 31
