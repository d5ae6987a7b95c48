"""What is measured, and how: each subject in turn, several times over, medians of the rounds.

A subject is where calls go: the gateway, the bare relay, or the upstream itself (`direct`).
Alternating them makes a slow minute of the machine everybody's slow minute. Beside another version
of the gateway, turns under load are a tenth as long and ten times as many, and figures are compared
turn by turn: other programs' work changes within seconds, and more than versions differ.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from bench.caller import Round, call_in_a_loop, request_bytes
from bench.installation import MODEL
from bench.programs import BenchError, Program
from bench.samples import Figures, median_of, percentile, ratios_of
from bench.streams import Watch, close_streams, open_streams

BUFFERED_END = b"}"
STREAM_END = b"data: [DONE]\n\n"
PACED_STREAMS = 400
CHUNKS_PER_S = 20
OPEN_STREAMS = 1_000
MS_PER_S = 1_000
US_PER_S = 1_000_000
NS_PER_MS = 1_000_000
# Beside the subjects of a comparison: the gateway's figures as multiples of those before.
RATIO = "ratio"
# How many short turns are taken in the place of a long one.
TURNS = 10


@dataclass(frozen=True)
class Plan:
    """How long and how often. Seconds are of load, without warming up."""

    rounds: int = 3
    buffered_s: float = 3.0
    latency_s: float = 1.5
    bursts_s: float = 2.5
    paced_s: float = 8.0
    paced_rounds: int = 2

    @classmethod
    def quick(cls) -> Plan:
        return cls(1, buffered_s=2.0, latency_s=1.0, bursts_s=2.0, paced_s=4.0, paced_rounds=1)

    def in_short_turns(self) -> Plan:
        """Return a plan of as much load that alternates more often."""
        return replace(
            self,
            rounds=self.rounds * TURNS,
            buffered_s=self.buffered_s / TURNS,
            latency_s=self.latency_s / TURNS,
            bursts_s=self.bursts_s / TURNS,
        )


@dataclass(frozen=True)
class Field:
    """The subjects of one run, and the keys they are called with.

    before: the gateway of the version to compare with, where there is one.
    """

    gateway: Program
    relay: Program
    upstream: Program
    key: str
    plan: Plan
    before: Program | None = None
    before_key: str = ""

    @property
    def compared(self) -> list[Program]:
        """What each measure takes in turn."""
        before = [] if self.before is None else [self.before]
        return [self.gateway, *before, self.relay]

    def request(self, subject: Program, **fields: object) -> bytes:
        model = "fake" if subject is self.upstream else MODEL
        key = self.before_key if subject is self.before else self.key
        return request_bytes(subject.port, key, model, **fields)


async def buffered(field: Field) -> dict[str, Figures]:
    """32 connections that call without a pause: what one core carries."""
    return await alternate(
        field.compared, field.plan.rounds, lambda s: _load(field, s, 32, field.plan.buffered_s)
    )


async def latency(field: Field) -> dict[str, Figures]:
    """One connection, one call at a time: what the gateway adds to an answer."""
    subjects = [field.upstream, *field.compared]
    return await alternate(
        subjects, field.plan.rounds, lambda s: _load(field, s, 1, field.plan.latency_s)
    )


async def bursts(field: Field) -> dict[str, Figures]:
    """Streams whose every chunk is there at once, on 32 connections."""
    options = {"stream": True, "stream_options": {"include_usage": True}}
    return await alternate(
        field.compared,
        field.plan.rounds,
        lambda s: _load(field, s, 32, field.plan.bursts_s, **options),
    )


async def paced(field: Field) -> dict[str, Figures]:
    """400 streams at 20 chunks a second: what a chunk costs, and how long it is held up."""
    found = await alternate([field.upstream], 1, lambda s: _paced(field, s))
    rounds = field.plan.paced_rounds
    return found | await alternate(field.compared, rounds, lambda s: _paced(field, s))


async def memory(field: Field) -> dict[str, Figures]:
    """1,000 streams open at once, each with a chunk a second."""
    return await alternate(field.compared, 1, lambda s: _memory(field, s))


BASIC_MEASURES: dict[str, Callable[[Field], Awaitable[dict[str, Figures]]]] = {
    "buffered": buffered,
    "latency": latency,
    "bursts": bursts,
    "paced": paced,
    "memory": memory,
}


async def alternate(
    subjects: Sequence[Program], rounds: int, measure: Callable[[Program], Awaitable[Figures]]
) -> dict[str, Figures]:
    """Take turns; return medians by subject's name, and by RATIO how the gateway compares with the
    version before, if that is a subject."""
    found = await take_turns(subjects, rounds, measure)
    medians = {name: median_of(each) for name, each in found.items()}
    if "before" in found:
        medians[RATIO] = ratios_of(found["gateway"], found["before"])
    return medians


async def take_turns(
    subjects: Sequence[Program], rounds: int, measure: Callable[[Program], Awaitable[Figures]]
) -> dict[str, list[Figures]]:
    """Measure each subject in turn, `rounds` times over; return all by subject's name."""
    found: dict[str, list[Figures]] = {subject.name: [] for subject in subjects}
    for _ in range(rounds):
        for subject in subjects:
            found[subject.name].append(await measure(subject))
    return found


async def warm_up(field: Field) -> None:
    """Let every subject open its connections and load what it loads on first use."""
    for subject in (*field.compared, field.upstream):
        await _load(field, subject, 32, 1.0)


async def _load(
    field: Field, subject: Program, connections: int, duration_s: float, **fields: object
) -> Figures:
    end = STREAM_END if fields.get("stream") else BUFFERED_END
    return await load(
        subject, field.request(subject, **fields), connections, duration_s, must_end_with=end
    )


async def load(
    subject: Program,
    request: bytes,
    connections: int,
    duration_s: float,
    *,
    must_end_with: bytes = BUFFERED_END,
) -> Figures:
    """Call without a pause on so many connections. Raises BenchError when a call fails."""
    run = Round(request, must_end_with=must_end_with, duration_s=duration_s)
    cpu_s = subject.cpu_s()
    gc.collect()
    gc.disable()
    try:
        per_s = await call_in_a_loop(subject.port, run, connections)
    finally:
        gc.enable()
    cpu_s = subject.cpu_s() - cpu_s
    check(subject, run.errors)
    return {
        "per_s": per_s,
        "p50_ms": percentile(run.latencies_s, 0.50) * MS_PER_S,
        "p99_ms": percentile(run.latencies_s, 0.99) * MS_PER_S,
        "cpu_us": cpu_s * US_PER_S / len(run.latencies_s),
    }


async def _paced(field: Field, subject: Program) -> Figures:
    asked = paced_fields(field.plan)
    return await watch_paced(field.plan, subject, field.request(subject, **asked))


def paced_fields(plan: Plan) -> dict[str, Any]:
    """Return what a paced stream asks for; `prompt` scripts the upstream."""
    tokens = int((plan.paced_s + 30) * CHUNKS_PER_S)
    prompt = _script(tokens=tokens, delay_ms=1000 / CHUNKS_PER_S, stamp=1)
    return {"prompt": prompt, "stream": True, "max_tokens": tokens}


async def watch_paced(plan: Plan, subject: Program, request: bytes) -> Figures:
    """Open the streams, and measure while all are open. Raises BenchError when one fails."""
    watch = Watch(PACED_STREAMS)
    viewers = await open_streams(subject.port, request, watch, over_s=1.0)
    check(subject, watch.errors)
    await asyncio.sleep(0.5)
    cpu_s, watch.is_counting = subject.cpu_s(), True
    await asyncio.sleep(plan.paced_s)
    cpu_s, watch.is_counting = subject.cpu_s() - cpu_s, False
    ended = watch.ended_streams
    await close_streams(viewers)
    check(subject, watch.errors + [f"{ended} streams ended early"] * bool(ended))
    return {
        "cpu_us_per_chunk": cpu_s * US_PER_S / max(1, watch.chunks),
        "chunks_per_s": watch.chunks / plan.paced_s,
        "p50_ms": percentile(watch.delays_ns, 0.50) / NS_PER_MS,
        "p99_ms": percentile(watch.delays_ns, 0.99) / NS_PER_MS,
    }


async def _memory(field: Field, subject: Program) -> Figures:
    prompt = _script(tokens=60, delay_ms=1000)
    request = field.request(subject, prompt=prompt, stream=True, max_tokens=60)
    before_bytes = subject.rss_bytes()
    watch = Watch(OPEN_STREAMS)
    viewers = await open_streams(subject.port, request, watch, over_s=2.0)
    await asyncio.sleep(1.0)
    with_streams_bytes = subject.rss_bytes()
    await close_streams(viewers)
    check(subject, watch.errors)
    return {
        "rss_mb": with_streams_bytes / 1_000_000,
        "before_mb": before_bytes / 1_000_000,
        "per_stream_kb": (with_streams_bytes - before_bytes) / OPEN_STREAMS / 1_000,
    }


def _script(**fields: object) -> str:
    return "script:" + urlencode(fields)


def check(subject: Program, errors: Sequence[str]) -> None:
    """Raises BenchError unless every call was answered well."""
    subject.check_alive()
    if errors:
        raise BenchError(f"{subject.name}: {len(errors)} calls failed, first: {errors[0]}")
