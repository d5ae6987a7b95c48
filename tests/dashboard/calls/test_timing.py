"""The parts of a call's time add up to its total, whatever the clocks said."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.calls.timing import stretches, timing_parts
from gateway.core.durations import added_us
from gateway.models import CallRecord

spans = st.integers(-10, 10**9)


def call(**durations: int | None) -> CallRecord:
    return CallRecord(**{f"{name}_us": value for name, value in durations.items()})


@given(
    total=st.integers(0, 10**9),
    admit=spans,
    queued=spans,
    failed=spans,
    upstream=spans,
    ttft=st.none() | spans,
)
def test_parts_add_up_to_the_total(total: int, **durations: int | None) -> None:
    record = call(total=total, **durations)

    parts = timing_parts(record)

    assert sum(part.duration_us for part in parts) == total
    assert all(part.duration_us > 0 for part in parts)
    bar = stretches(parts, total)
    assert sum(float(each.width.rstrip("%")) for each in bar) <= 100.01


def test_the_attempt_that_served_is_parted_at_its_first_event() -> None:
    record = call(total=1_000, admit=50, queued=0, failed=200, upstream=700, ttft=400)

    parts = {part.name: part.duration_us for part in timing_parts(record)}

    assert parts == {"admit": 50, "failed": 200, "gateway": 50, "wait": 100, "generation": 600}


def test_without_a_first_event_the_attempt_is_all_waiting() -> None:
    record = call(total=1_000, admit=50, upstream=900, ttft=None)

    parts = {part.name: part.duration_us for part in timing_parts(record)}

    assert parts == {"admit": 50, "gateway": 50, "wait": 900}


@pytest.mark.parametrize(
    ("total", "failed", "upstream", "added"),
    [(900, 0, 600, 300), (900, 250, 600, 50), (900, 700, 0, 200), (5, 0, 9, 0)],
)
def test_added_time_is_what_no_provider_took(
    total: int, failed: int, upstream: int, added: int
) -> None:
    assert added_us(call(total=total, failed=failed, upstream=upstream)) == added
