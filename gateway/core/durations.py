"""What of a call's time is ours."""

from __future__ import annotations

from typing import Protocol


class Durations(Protocol):
    """A call as it is recorded: parts that follow one another, and the total, in microseconds."""

    @property
    def total_us(self) -> int: ...
    @property
    def admit_us(self) -> int: ...
    @property
    def queued_us(self) -> int: ...
    @property
    def failed_us(self) -> int: ...
    @property
    def upstream_us(self) -> int: ...
    @property
    def processors_us(self) -> int: ...
    @property
    def tools_us(self) -> int: ...


def gateway_us(call: Durations) -> int:
    """Return what is left of the total: reading, routing, relaying and settling."""
    known_us = call.admit_us + call.queued_us + call.failed_us + call.upstream_us
    left_us = call.total_us - known_us - call.processors_us - call.tools_us
    return left_us if left_us > 0 else 0


def added_us(call: Durations) -> int:
    """Return what the call took beyond its providers, those that failed included, and its tools."""
    own_us = call.total_us - call.upstream_us - call.failed_us - call.tools_us
    return own_us if own_us > 0 else 0
