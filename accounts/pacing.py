"""Work in the background, in short steps with pauses between them: others write, too."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator


def paced_steps(work_s: float) -> Iterator[float]:
    """Yield before each step when it begins, on the monotonic clock, for so many seconds at the
    most, pauses included; at least once. A pause is as long as the step before it."""
    ends_s = time.monotonic() + work_s
    while True:
        began_s = time.monotonic()
        yield began_s
        step_s = time.monotonic() - began_s
        if time.monotonic() + step_s > ends_s:
            return
        time.sleep(step_s)


def repeat_for(work_s: float, step: Callable[[], bool]) -> int:
    """Take paced steps until one returns False: nothing is left to be done. Return how many
    were taken."""
    steps = 0
    for _ in paced_steps(work_s):
        if not step():
            break
        steps += 1
    return steps
