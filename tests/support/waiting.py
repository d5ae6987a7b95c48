"""Waiting for something to become true, with a deadline instead of a guessed sleep."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")
PAUSE_S = 0.02
# Nobody waits so long for what works; a machine that stands still for a while does.
DEADLINE_S = 60.0
DAY_S, DAY_TURNS_S = 86_400, 30


def wait_until(find: Callable[[], T], *, within_s: float = DEADLINE_S, what: str = "it") -> T:
    """Return the first truthy answer of `find`. Raises AssertionError when none came in time."""
    deadline = time.monotonic() + within_s
    while True:
        found = find()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {within_s} s for {what}; last answer: {found!r}")
        time.sleep(PAUSE_S)


async def async_wait_until(
    find: Callable[[], Awaitable[T]], *, within_s: float = DEADLINE_S, what: str = "it"
) -> T:
    """Return the first truthy answer of the coroutine function `find`, as wait_until does."""
    deadline = time.monotonic() + within_s
    while True:
        found = await find()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {within_s} s for {what}; last answer: {found!r}")
        await asyncio.sleep(PAUSE_S)


def wait_for_a_day_that_lasts() -> None:
    """Return at once, or just after midnight (UTC) where that is near: for what counts by days."""
    left_s = DAY_S - time.time() % DAY_S
    if left_s < DAY_TURNS_S:
        time.sleep(left_s + 1)
