"""What rules have counted in memory goes on after a restart."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from gateway.admission.kept_counts import KeptCount, KeptCounts
from gateway.admission.limit_windows import PERIOD_US
from gateway.admission.rule_counters import make_counter
from gateway.snapshot.types import LimitRule
from gateway.stores.count_file import NAME, CountFile
from tests.gateway.admission.counting import make_rule
from tests.gateway.admission.rule_clock import Clock

ALGORITHMS = ("rolling", "fixed_window", "sliding_window", "token_bucket")
PERIODS = ("hour", "day", "week", "month")


def rule_of(algorithm: str, period: str = "hour") -> LimitRule:
    rule = make_rule("key", "tokens", 1_000, f"{algorithm}-{period}")
    return replace(rule, algorithm=algorithm, period=period)


async def restart(store: CountFile, clock: Clock, stopped: KeptCounts | None = None) -> KeptCounts:
    if stopped is not None:
        await stopped.aclose()
    counts = KeptCounts(store, lambda: clock.us)
    await counts.start()
    return counts


@pytest.mark.parametrize("period", PERIODS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
async def test_a_counter_goes_on_as_if_nothing_had_happened(
    tmp_path: Path, algorithm: str, period: str
) -> None:
    clock, dice = Clock(), Random(1)
    rule, step_us = rule_of(algorithm, period), PERIOD_US[period] // 7
    steady = make_counter(rule)
    counts = await restart(CountFile(tmp_path), clock)
    counter = make_counter(rule)
    counts.follow(rule, counter)
    for _ in range(20):
        clock.advance(dice.randrange(step_us))
        amount = dice.randrange(100)
        for each in (steady, counter):
            each.add(amount, clock.us)
        counts = await restart(CountFile(tmp_path), clock, counts)
        counter = make_counter(rule)
        counts.follow(rule, counter)

        for later_us in range(0, 2 * PERIOD_US[period], PERIOD_US[period] // 11):
            at_us = clock.us + later_us
            assert counter.used(at_us) == steady.used(at_us)
    assert (tmp_path / NAME).stat().st_mode & 0o777 == 0o600


async def test_what_no_call_asks_for_is_kept_until_it_counts_no_more(tmp_path: Path) -> None:
    clock, rule = Clock(), rule_of("rolling", "day")
    counts = await restart(CountFile(tmp_path), clock)
    counter = make_counter(rule)
    counts.follow(rule, counter)
    counter.add(7, clock.us)
    for _ in range(3):
        counts = await restart(CountFile(tmp_path), clock, counts)
    asked_for_late = make_counter(rule)
    counts.follow(rule, asked_for_late)

    assert asked_for_late.used(clock.us) == 7
    clock.advance(2 * PERIOD_US["day"])
    for _ in range(2):
        counts = await restart(CountFile(tmp_path), clock, counts)
    assert CountFile(tmp_path).load() == {}


async def test_a_rule_that_counts_something_else_starts_anew(tmp_path: Path) -> None:
    clock, rule = Clock(), rule_of("fixed_window", "month")
    counts = await restart(CountFile(tmp_path), clock)
    counter = make_counter(rule)
    counts.follow(rule, counter)
    counter.add(7, clock.us)
    counts = await restart(CountFile(tmp_path), clock, counts)
    other = make_counter(rule)
    counts.follow(replace(rule, metric="requests"), other)

    assert other.used(clock.us) == 0


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"a": 1}', b'{"a": ["b", 1, ["c"]]}'])
def test_a_file_that_cannot_be_read_is_said_and_replaced(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, content: bytes
) -> None:
    (tmp_path / NAME).write_bytes(content)
    store = CountFile(tmp_path)

    with caplog.at_level(logging.WARNING):
        assert store.load() == {}
    kept = {"a": KeptCount("tokens", 5, (1, 2))}
    store.save(kept)

    assert "Limits count from 0" in caplog.text
    assert CountFile(tmp_path).load() == kept
