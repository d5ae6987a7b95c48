"""Where the time of a call went: parts that follow one another and add up to its total."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gateway.models import CallRecord

_LEAST_SHARE = 0.6  # percent: a part that took time stays visible


@dataclass(frozen=True, slots=True)
class Part:
    """One stretch of a call. name: its colour's class, see static/css/charts.css."""

    name: str
    label: str
    meaning: str
    duration_us: int


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part drawn: left edge and width in percent of the bar."""

    part: Part
    left: str
    width: str


def timing_parts(call: CallRecord) -> list[Part]:
    """Return the parts that took time, in order; their sum is call.total_us exactly.

    The record has the durations of admission, queue, processors, failed attempts and the attempt
    that served.
    What is left is the gateway's own work. The attempt that served is parted where its first
    event came, as far as the record tells.
    """
    rest = call.total_us
    admit, rest = _take(call.admit_us, rest)
    queued, rest = _take(call.queued_us, rest)
    processors, rest = _take(call.processors_us, rest)
    tools, rest = _take(call.tools_us, rest)
    failed, rest = _take(call.failed_us, rest)
    upstream, gateway = _take(call.upstream_us, rest)
    wait = upstream
    if call.ttft_us is not None:
        wait = min(upstream, max(0, call.ttft_us - admit - queued - processors - failed - gateway))
    parts = [
        Part("admit", "Admission", "Rules and balance checked, files fetched, credit held.", admit),
        Part("queued", "Queued", "Waited for a free slot.", queued),
        Part("processors", "Processors", "Request and response processed.", processors),
        Part("tools", "Server tools", "Plugins ran between requests to the model.", tools),
        Part("failed", "Failed attempts", "Providers that failed.", failed),
        Part("gateway", "Gateway", "Parsing, routing, relaying and billing.", gateway),
        Part("wait", "Provider, time to first event", "Request sent, no response yet.", wait),
        Part("generation", "Provider, responding", "First event to last event.", upstream - wait),
    ]
    return [part for part in parts if part.duration_us]


def stretches(parts: Sequence[Part], whole_us: int) -> list[Stretch]:
    """Return the parts drawn one after the other on a bar that stands for whole_us."""
    drawn: list[Stretch] = []
    left = 0.0
    for part in parts:
        width = max(100 * part.duration_us / max(whole_us, 1), _LEAST_SHARE)
        width = min(width, 100 - left)
        drawn.append(Stretch(part, f"{left:.3f}%", f"{width:.3f}%"))
        left += width
    return drawn


def _take(duration_us: int, rest_us: int) -> tuple[int, int]:
    """Split off a duration, at most what is left: clocks are read at slightly different times."""
    taken = min(max(duration_us, 0), rest_us)
    return taken, rest_us - taken
