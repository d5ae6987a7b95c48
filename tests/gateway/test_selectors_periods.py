"""Periods: on quarters of an hour, comparable with the one before, from any URL."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from gateway.selectors.id_times import first_id_at, moment_of
from gateway.selectors.periods import DEFAULT_PERIOD, NAMED_PERIODS, named_period, read_period

NOW = datetime(2026, 11, 18, 15, 7, 31, tzinfo=UTC)


@pytest.mark.parametrize(
    ("name", "starts_at", "steps"),
    [
        ("1h", "2026-11-18T14:15", 4),
        ("today", "2026-11-18T00:00", 31),
        ("24h", "2026-11-17T15:30", 48),
        ("7d", "2026-11-11T18:00", 56),
        ("30d", "2026-10-20T00:00", 30),
    ],
)
def test_a_named_period_ends_now_and_begins_on_a_step(
    name: str, starts_at: str, steps: int
) -> None:
    period = named_period(name, now=NOW)

    assert period.ends_at == NOW
    assert period.starts_at == datetime.fromisoformat(f"{starts_at}+00:00")
    assert (period.steps, len(period.step_starts())) == (steps, steps)


@pytest.mark.parametrize("name", sorted(NAMED_PERIODS))
def test_the_period_before_is_as_long(name: str) -> None:
    period = named_period(name, now=NOW)

    before = period.previous()

    assert before.ends_at - before.starts_at == period.ends_at - period.starts_at
    assert before.starts_at == period.starts_at - timedelta(seconds=period.length_s)


def test_dates_from_the_url_are_days_of_utc_with_the_last_one_whole() -> None:
    period = read_period({"from": "2026-11-01", "to": "2026-11-02"}, now=NOW)

    assert period.name == "custom"
    assert period.starts_at == datetime(2026, 11, 1, tzinfo=UTC)
    assert period.ends_at == datetime(2026, 11, 3, tzinfo=UTC)


def test_a_long_period_is_cut_to_a_year_and_to_few_steps() -> None:
    period = read_period({"from": "2001-01-01", "to": "2026-01-01"}, now=NOW)

    assert (period.ends_at - period.starts_at).days == 366
    assert period.steps <= 60


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"period": "1y"},
        {"from": "yesterday"},
        {"from": "2026-11-02", "to": "2026-11-01"},
        {"from": "0001-01-01T00:00"},
        {"from": "9999-12-31T23:59:59+00:00"},
        {"from": "2026-11-01", "to": "\ud800"},
        {"from": "2026-11-01T00:00+99:00"},
    ],
)
def test_what_cannot_be_read_gives_the_default(query: dict[str, str]) -> None:
    assert read_period(query, now=NOW).name == DEFAULT_PERIOD


def test_ids_and_moments_turn_into_each_other() -> None:
    moment = NOW.replace(microsecond=345_000)

    assert moment_of(first_id_at(moment)) == moment
    assert first_id_at(moment) < first_id_at(moment + timedelta(milliseconds=1))
