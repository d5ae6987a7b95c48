"""Refusals of a server that has no room, whose callers come back spread over some seconds: all at
once they would find it full again."""

from __future__ import annotations

import random

from gateway.core.errors import Overloaded

RETRY_AFTER_S = (1.0, 10.0)


def overloaded(reason: str) -> Overloaded:
    """Return the refusal of what there is no room for."""
    return Overloaded(reason, retry_after_s=spread_retry_after_s())


def spread_retry_after_s() -> float:
    """Return when one of many callers may come back."""
    return random.uniform(*RETRY_AFTER_S)  # noqa: S311
