"""Proofs that take long have two forms: `make test` runs the short one, `make prove-…` the whole.

The short form is a fixed sample of the same cases that has each kind of them. Tests that have both
are marked `proof`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")
IS_WHOLE = os.environ.get("PROOFS") == "whole"


def form(*, short: T, whole: T) -> T:
    """Return what this run is to use: how many, for how long, which cases."""
    return whole if IS_WHOLE else short


def sample(every: Iterable[T], *, step: int, start: int = 0) -> list[T]:
    """Return all cases in the whole form, each step-th in the short one."""
    cases = list(every)
    return form(short=cases[start % step :: step], whole=cases)
