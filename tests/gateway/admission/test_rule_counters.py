"""What a rule counts, in each of the four ways, against every event kept one by one."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.admission.limit_windows import PERIOD_US, window_around
from gateway.admission.rolling_window import PARTS
from gateway.admission.rule_counters import RuleCounter, make_counter
from gateway.snapshot.types import LimitRule

MINUTE_US = PERIOD_US["minute"]
NOON_US = int(datetime(2026, 3, 4, 12, 0, 13, tzinfo=UTC).timestamp()) * 10**6
ALGORITHMS = ["rolling", "fixed_window", "sliding_window", "token_bucket"]

amounts = st.integers(1, 40)
steps = st.lists(st.tuples(st.integers(0, MINUTE_US // 3), amounts), min_size=1, max_size=120)


def make_rule(algorithm: str, maximum: int = 100, period: str = "minute") -> LimitRule:
    return LimitRule(
        rule_id="r",
        level="key",
        owner="k",
        metric="tokens",
        maximum=maximum,
        period=period,
        algorithm=algorithm,
    )


def passing(counter: RuleCounter, maximum: int, steps: list[tuple[int, int]]) -> list[
    tuple[int, int]
]:  # fmt: skip
    """Return when which amounts passed that came after these pauses."""
    now_us, passed = NOON_US, []
    for pause_us, amount in steps:
        now_us += pause_us
        if counter.used(now_us) + amount <= maximum:
            counter.add(amount, now_us)
            passed.append((now_us, amount))
    return passed


@given(steps)
def test_no_rolling_minute_has_more_than_the_limit(steps: list[tuple[int, int]]) -> None:
    passed = passing(make_counter(make_rule("rolling")), 100, steps)

    for start, _ in passed:
        within = [amount for at, amount in passed if start <= at < start + MINUTE_US]
        assert sum(within) <= 100


@given(steps)
def test_a_rolling_window_forgets_at_most_a_part_too_late(steps: list[tuple[int, int]]) -> None:
    counter = make_counter(make_rule("rolling"))
    passed = passing(counter, 100, steps)
    now_us = NOON_US + sum(pause for pause, _ in steps) + MINUTE_US // 2

    used = counter.used(now_us)

    exact = sum(amount for at, amount in passed if at > now_us - MINUTE_US)
    late_us = now_us - MINUTE_US - MINUTE_US // PARTS
    assert exact <= used <= sum(amount for at, amount in passed if at > late_us)


@given(steps)
def test_no_minute_of_the_clock_has_more_than_the_limit(steps: list[tuple[int, int]]) -> None:
    counter = make_counter(make_rule("fixed_window"))
    passed = passing(counter, 100, steps)

    for start in {at // MINUTE_US for at, _ in passed}:
        within = sum(amount for at, amount in passed if at // MINUTE_US == start)
        assert within <= 100
        assert counter.used((start + 1) * MINUTE_US + 5 * MINUTE_US) == 0


@given(steps)
def test_a_sliding_window_weighs_the_one_before_by_what_is_left_of_it(
    steps: list[tuple[int, int]],
) -> None:
    counter = make_counter(make_rule("sliding_window"))
    passed = passing(counter, 100, steps)
    now_us = NOON_US + sum(pause for pause, _ in steps)

    number, passed_us = divmod(now_us, MINUTE_US)
    now = sum(amount for at, amount in passed if at // MINUTE_US == number)
    before = sum(amount for at, amount in passed if at // MINUTE_US == number - 1)
    weighed = before * (MINUTE_US - passed_us) / MINUTE_US
    assert counter.used(now_us) == now + ceil(weighed)


@given(steps)
def test_a_bucket_passes_no_more_than_its_burst_and_what_flows_in(
    steps: list[tuple[int, int]],
) -> None:
    rule = replace(make_rule("token_bucket"), burst=50)
    passed = passing(make_counter(rule), 50, steps)

    for first, (start, _) in enumerate(passed):
        total = 0
        for at, amount in passed[first:]:
            total += amount
            assert total <= 50 + (at - start) * 100 / MINUTE_US + 0.001


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@given(steps=steps, amount=amounts)
def test_who_waits_as_long_as_told_passes(
    algorithm: str, steps: list[tuple[int, int]], amount: int
) -> None:
    counter = make_counter(make_rule(algorithm))
    passing(counter, 100, steps)
    now_us = NOON_US + sum(pause for pause, _ in steps)
    fits = counter.used(now_us) + amount <= 100

    wait_us = counter.wait_us(amount, now_us)

    assert (wait_us == 0) is fits
    assert counter.used(now_us + wait_us) + amount <= 100
    if wait_us > 20:  # not much sooner, either
        assert counter.used(now_us + wait_us - 20) + amount > 100 - (algorithm != "rolling")


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@given(steps=steps)
def test_when_it_is_empty_it_is(algorithm: str, steps: list[tuple[int, int]]) -> None:
    counter = make_counter(make_rule(algorithm))
    passing(counter, 100, steps)
    now_us = NOON_US + sum(pause for pause, _ in steps)

    empty_us = counter.empty_in_us(now_us)

    assert counter.used(now_us + empty_us) == 0
    assert (empty_us == 0) is (counter.used(now_us) == 0)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@given(steps=steps, delta=st.integers(-40, 40))
def test_a_correction_is_as_if_the_amount_had_been_right(
    algorithm: str, steps: list[tuple[int, int]], delta: int
) -> None:
    counter, right = make_counter(make_rule(algorithm)), make_counter(make_rule(algorithm))
    now_us = NOON_US
    for pause_us, amount in steps:
        now_us += pause_us
        counter.add(amount, now_us)
        right.add(amount, now_us)
    # Long enough that no bucket is empty before its end.
    counter.add(1_000, now_us)
    right.add(1_000 + delta, now_us)
    counter.correct(delta, now_us, now_us + MINUTE_US // 4)

    for later_us in (MINUTE_US // 4, MINUTE_US // 2, MINUTE_US, MINUTE_US * 3):
        assert counter.used(now_us + later_us) == right.used(now_us + later_us)


@pytest.mark.parametrize("algorithm", ["rolling", "fixed_window", "sliding_window"])
def test_what_has_left_the_window_is_not_corrected(algorithm: str) -> None:
    counter = make_counter(make_rule(algorithm))
    counter.add(50, NOON_US)
    counter.add(7, NOON_US + 3 * MINUTE_US)

    counter.correct(-50, NOON_US, NOON_US + 3 * MINUTE_US)

    assert counter.used(NOON_US + 3 * MINUTE_US) == 7


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@given(back_us=st.integers(1, 50 * MINUTE_US))
def test_a_clock_that_is_set_back_forgets_nothing_and_stops_nothing(
    algorithm: str, back_us: int
) -> None:
    counter = make_counter(make_rule(algorithm))
    counter.add(60, NOON_US)

    assert counter.used(NOON_US - back_us) == 60
    counter.add(40, NOON_US - back_us)
    assert counter.used(NOON_US - back_us) == 100
    assert counter.used(NOON_US - back_us + 3 * MINUTE_US) == 0


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_another_limit_forgets_nothing(algorithm: str) -> None:
    counter = make_counter(make_rule(algorithm))
    counter.add(60, NOON_US)

    counter.change(70, 70)

    assert counter.used(NOON_US) == 60
    assert counter.wait_us(11, NOON_US) > 0
    assert counter.wait_us(10, NOON_US) == 0


@pytest.mark.parametrize(
    ("period", "timezone", "start", "end"),
    [
        ("day", "UTC", "2026-03-04T00:00+00:00", "2026-03-05T00:00+00:00"),
        ("week", "UTC", "2026-03-02T00:00+00:00", "2026-03-09T00:00+00:00"),
        ("month", "UTC", "2026-03-01T00:00+00:00", "2026-04-01T00:00+00:00"),
        ("day", "Asia/Tokyo", "2026-03-04T00:00+09:00", "2026-03-05T00:00+09:00"),
        # The clocks change within this month.
        ("month", "Europe/Berlin", "2026-03-01T00:00+01:00", "2026-04-01T00:00+02:00"),
        ("month", "America/New_York", "2026-03-01T00:00-05:00", "2026-04-01T00:00-04:00"),
        ("hour", "Asia/Kolkata", "2026-03-04T12:00+00:00", "2026-03-04T13:00+00:00"),
    ],
)
def test_windows_of_the_calendar(period: str, timezone: str, start: str, end: str) -> None:
    expected = [int(datetime.fromisoformat(text).timestamp()) * 10**6 for text in (start, end)]

    assert list(window_around(period, timezone, NOON_US)) == expected


@given(
    st.integers(0, 4 * 10**15),
    st.sampled_from(["UTC", "Europe/Berlin", "America/Sao_Paulo", "Asia/Beirut"]),
    st.sampled_from(["day", "week", "month"]),
)
def test_windows_of_the_calendar_leave_no_gap(at_us: int, timezone: str, period: str) -> None:
    start, end = window_around(period, timezone, at_us)

    assert start <= at_us < end
    assert window_around(period, timezone, start) == (start, end)
    assert window_around(period, timezone, end - 1) == (start, end)
    assert window_around(period, timezone, end)[0] == end
