"""A token bucket: how many calls it lets through in any stretch of time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gateway.admission.request_rate import MINUTE_NS, TokenBucket

limits = st.integers(1, 5_000)
pauses_ns = st.lists(st.integers(0, MINUTE_NS // 4), min_size=1, max_size=300)


def passing(bucket: TokenBucket, pauses: list[int]) -> list[int]:
    """Return when calls passed that came after these pauses, in nanoseconds."""
    now_ns, passed = 0, []
    for pause in pauses:
        now_ns += pause
        may_pass = not bucket.wait_ns(now_ns)
        assert bucket.try_take(now_ns) is may_pass
        if may_pass:
            passed.append(now_ns)
    return passed


@given(per_minute=limits, burst=limits, pauses=pauses_ns)
def test_no_minute_sees_more_than_burst_and_rate_together(
    per_minute: int, burst: int, pauses: list[int]
) -> None:
    passed = passing(TokenBucket(per_minute, burst, 0), pauses)

    for start in passed:
        in_window = sum(start <= moment < start + MINUTE_NS for moment in passed)
        assert in_window <= per_minute + burst


@given(per_minute=limits, burst=limits, pauses=pauses_ns)
def test_no_stretch_sees_more_than_burst_and_what_flows_in_meanwhile(
    per_minute: int, burst: int, pauses: list[int]
) -> None:
    passed = passing(TokenBucket(per_minute, burst, 0), pauses)

    for first, start in enumerate(passed):
        for last in range(first, len(passed)):
            flown_in = (passed[last] - start) * per_minute / MINUTE_NS
            assert last - first + 1 <= burst + flown_in


@given(per_minute=limits, burst=limits, pauses=pauses_ns)
def test_who_waits_as_long_as_told_passes_and_who_comes_sooner_does_not(
    per_minute: int, burst: int, pauses: list[int]
) -> None:
    bucket = TokenBucket(per_minute, burst, 0)
    passing(bucket, pauses)
    now_ns = sum(pauses)

    wait_ns = bucket.wait_ns(now_ns)

    assert not bucket.wait_ns(now_ns + wait_ns)
    if wait_ns:
        assert bucket.wait_ns(now_ns + wait_ns - 1)
        assert bucket.remaining(now_ns) == 0


@given(per_minute=limits, burst=limits, pauses=pauses_ns)
def test_what_remains_is_what_passes_at_once(
    per_minute: int, burst: int, pauses: list[int]
) -> None:
    bucket = TokenBucket(per_minute, burst, 0)
    passing(bucket, pauses)
    now_ns = sum(pauses)

    remaining = bucket.remaining(now_ns)

    assert remaining <= burst
    assert len(passing_at(bucket, now_ns, remaining + 3)) == remaining
    full_ns = now_ns + bucket.full_in_ns(now_ns)
    assert bucket.remaining(full_ns) == burst


def passing_at(bucket: TokenBucket, now_ns: int, calls: int) -> list[int]:
    passed = []
    for number in range(calls):
        may_pass = not bucket.wait_ns(now_ns)
        assert bucket.try_take(now_ns) is may_pass
        if may_pass:
            passed.append(number)
    return passed


@given(
    burst=st.integers(1, 50),
    other=st.integers(1, 50),
    used=st.integers(0, 50),
)
def test_other_limits_forget_nothing(burst: int, other: int, used: int) -> None:
    bucket = TokenBucket(60, burst, 0)
    counted = len(passing_at(bucket, 0, used))

    bucket.change(30, other, 0)

    assert bucket.remaining(0) == max(other - counted, 0)


def test_a_call_given_back_was_never_counted() -> None:
    bucket = TokenBucket(60, 2, 0)
    assert bucket.try_take(0)

    bucket.give_back(0)
    bucket.give_back(0)

    assert bucket.remaining(0) == 2
