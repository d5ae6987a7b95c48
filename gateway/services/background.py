"""Work in the background, in short steps with pauses between them."""

from __future__ import annotations

import time
from collections.abc import Callable


def repeat_for(work_s: float, step: Callable[[], bool]) -> int:
    """Take steps for so many seconds at the most, pauses included, or until one returns False:
    nothing is left to be done. Return how many were taken.

    A pause is as long as the step before it: others write, too.
    """
    ends_s = time.monotonic() + work_s
    steps = 0
    while True:
        began_s = time.monotonic()
        if not step():
            return steps
        steps += 1
        step_s = time.monotonic() - began_s
        if time.monotonic() + step_s > ends_s:
            return steps
        time.sleep(step_s)
