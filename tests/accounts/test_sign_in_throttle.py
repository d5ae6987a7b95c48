"""Tries to sign in, counted by several processes together."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from accounts.models import SignInTries
from accounts.sign_in_throttle import (
    FIRST_WAIT_S,
    FORGOTTEN_AFTER,
    FREE_TRIES,
    FREE_TRIES_PER_SUBNET,
    LONGEST_WAIT_S,
    SignInThrottle,
)
from tests.accounts.test_at_once import at_once

SUBNET, ACCOUNT = "203.0.113.9", "ada@example.com"


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def pass_(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.mark.django_db
def test_two_processes_count_together(clock: Clock) -> None:
    one, other = SignInThrottle(clock), SignInThrottle(clock)

    waits = [(one, other)[n % 2].begin(SUBNET, ACCOUNT) for n in range(FREE_TRIES)]

    assert waits == [0.0] * FREE_TRIES
    assert one.begin(SUBNET, ACCOUNT) == other.begin(SUBNET, ACCOUNT) == FIRST_WAIT_S
    clock.pass_(FIRST_WAIT_S)
    assert other.begin(SUBNET, ACCOUNT) == 0.0
    assert one.begin(SUBNET, ACCOUNT) == 2 * FIRST_WAIT_S


@pytest.mark.django_db
def test_success_at_one_process_counts_at_the_other(clock: Clock) -> None:
    one, other = SignInThrottle(clock), SignInThrottle(clock)
    for _ in range(FREE_TRIES - 1):
        one.begin(SUBNET, ACCOUNT)

    other.succeed(SUBNET, ACCOUNT)

    assert [one.begin(SUBNET, ACCOUNT) for _ in range(FREE_TRIES)] == [0.0] * FREE_TRIES
    assert SignInTries.objects.get(account="").failed == 2 * FREE_TRIES - 2


@pytest.mark.django_db
def test_many_accounts_from_one_subnet(clock: Clock) -> None:
    throttle = SignInThrottle(clock)

    waits = [throttle.begin(SUBNET, f"{n}@example.com") for n in range(FREE_TRIES_PER_SUBNET)]

    assert waits == [0.0] * FREE_TRIES_PER_SUBNET
    assert throttle.begin(SUBNET, "another@example.com") == FIRST_WAIT_S
    assert throttle.begin("203.0.113.10", "another@example.com") == 0.0


@pytest.mark.django_db
def test_waits_have_an_end_and_tries_are_forgotten(clock: Clock) -> None:
    throttle = SignInThrottle(clock)
    for _ in range(FREE_TRIES + 20):
        clock.pass_(throttle.begin(SUBNET, ACCOUNT))

    assert throttle.begin(SUBNET, ACCOUNT) <= LONGEST_WAIT_S
    clock.pass_(FORGOTTEN_AFTER.total_seconds() + LONGEST_WAIT_S)
    assert throttle.begin(SUBNET, ACCOUNT) == 0.0
    assert SignInTries.objects.get(account="").failed == 1


@pytest.mark.django_db
def test_what_was_typed_is_not_kept() -> None:
    SignInThrottle().begin(SUBNET, "my password, in the wrong field")

    assert not SignInTries.objects.filter(account__contains="password").exists()


@pytest.mark.django_db(transaction=True)
def test_at_the_same_moment_no_more_are_let_in(clock: Clock) -> None:
    tries: list[Callable[[], object]] = [
        partial(SignInThrottle(clock).begin, SUBNET, ACCOUNT) for _ in range(4 * FREE_TRIES)
    ]

    waits = at_once(tries)

    assert sorted(waits, key=str) == sorted(
        [0.0] * FREE_TRIES + [FIRST_WAIT_S] * (3 * FREE_TRIES), key=str
    )
