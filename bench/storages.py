"""`python -m bench.storages`: what a call costs with SQLite and counters in memory, and with
PostgreSQL and Redis, each without limits and with five; then how several processes share the cores.

The gateways of the first table have one core, everything else the other. Those of the second share
all cores with the load generator, the fake provider, PostgreSQL and Redis.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import uvloop

from bench import installation
from bench.caller import request_bytes
from bench.measures import TURNS, load, take_turns
from bench.programs import LOAD_CPU, ROOT, BenchError, Program, Programs, pin
from bench.samples import Figures, error_of, mean_of, median_of, ratios_of
from tests.support.postgresql import PostgresqlServer, running_postgresql
from tests.support.redis import RedisServer, running_redis

EMBEDDED, SHARED = "SQLite, memory", "PostgreSQL, Redis"
FIVE = ", five limits"
# One at each level; none of them refuses.
LIMITS = (
    "--installation --metric requests --period minute --maximum 100000000",
    f"--model {installation.MODEL} --metric tokens --period day --maximum 1000000000000",
    "--workspace bench --metric cost --period month --maximum 1000000",
    "--workspace bench --each-key --metric completion_tokens --period hour --maximum 1000000000000",
    "--workspace bench --each-key --metric concurrent_requests --maximum 100000",
)
CONNECTIONS = 32
MANY_S, ONE_S, CURVE_S = 3.0, 1.5, 3.0
CURVE = (1, 2, 4)


@dataclass(frozen=True)
class Subject:
    """A gateway and its key."""

    program: Program
    key: str

    @property
    def request(self) -> bytes:
        return request_bytes(self.program.port, self.key, installation.MODEL)


def shared_env(server: PostgresqlServer, redis: RedisServer) -> dict[str, str]:
    return {"DATABASE_URL": server.url(server.new_database()), "REDIS_URL": redis.url}


def set_up(programs: Programs, upstream: Program, limits: tuple[str, ...]) -> str:
    key = installation.set_up(programs, upstream, ())
    for limit in limits:
        programs.manage("set_limit_rule", *limit.split())
    return key


@dataclass(frozen=True)
class Compared:
    """What one start of all gateways showed, by their names: medians, and multiples of the first
    gateway's figures under load. direct_ms: p50 of the provider, called without a gateway."""

    loaded: dict[str, Figures]
    single: dict[str, Figures]
    ratios: dict[str, Figures]
    direct_ms: float


async def compare(subjects: list[Subject], upstream: Program, rounds: int) -> Compared:
    """Measure in short turns, each gateway under load and with one call at a time."""
    direct = request_bytes(upstream.port, "", "fake")
    requests = {subject.program.name: subject.request for subject in subjects}
    requests[upstream.name] = direct
    programs = [subject.program for subject in subjects]

    def many(program: Program) -> asyncio.Future[Figures]:
        request = requests[program.name]
        return asyncio.ensure_future(load(program, request, CONNECTIONS, MANY_S / TURNS))

    def one(program: Program) -> asyncio.Future[Figures]:
        return asyncio.ensure_future(load(program, requests[program.name], 1, ONE_S))

    await take_turns(programs, TURNS, many)  # to warm up
    loaded = await take_turns(programs, rounds * TURNS, many)
    single = await take_turns([upstream, *programs], rounds, one)
    first = loaded[programs[0].name]
    return Compared(
        {name: median_of(each) for name, each in loaded.items()},
        {name: median_of(each) for name, each in single.items()},
        {name: ratios_of(each, first) for name, each in loaded.items()},
        median_of(single[upstream.name])["p50_ms"],
    )


def comparison(starts: list[Compared]) -> list[str]:
    """Return the lines of the first table. Ratios are means of all starts, with their standard
    error where there are several."""
    lines = [
        f"{'one process on one core':<32}{'calls/s':>9}{'CPU us/call':>13}{'ratio':>7}{'':8}"
        f"{'p50 added ms':>14}{'p99 ms':>8}"
    ]
    direct_ms = median(each.direct_ms for each in starts)
    for name in starts[0].loaded:
        loaded = median_of([each.loaded[name] for each in starts])
        single = median_of([each.single[name] for each in starts])
        ratios = [each.ratios[name] for each in starts]
        error = error_of(ratios).get("cpu_us", 0.0)
        lines.append(
            f"{name:<32}{loaded['per_s']:>9.0f}{loaded['cpu_us']:>13.1f}"
            f"{mean_of(ratios)['cpu_us']:>7.3f}{f' ± {error:.3f}' if error else '':8}"
            f"{single['p50_ms'] - direct_ms:>14.3f}{single['p99_ms']:>8.2f}"
        )
    return lines


async def share(programs: list[Program], key: str) -> Figures:
    """Call all of them at once; return calls per second and processor time per call."""
    requests = [request_bytes(program.port, key, installation.MODEL) for program in programs]
    connections = CONNECTIONS // len(programs)
    found = await asyncio.gather(
        *(
            load(program, request, connections, CURVE_S)
            for program, request in zip(programs, requests, strict=True)
        )
    )
    per_s = sum(one["per_s"] for one in found)
    cpu_us = sum(one["cpu_us"] * one["per_s"] for one in found) / per_s
    return {"per_s": per_s, "cpu_us": cpu_us}


async def curve(programs: list[Program], key: str, rounds: int) -> list[str]:
    """Return the lines of the second table."""
    found: dict[int, list[Figures]] = {count: [] for count in CURVE}
    await share(programs, key)  # to warm up
    for _ in range(rounds):
        for count in CURVE:
            found[count].append(await share(programs[:count], key))
    lines = [f"{'processes on all cores':<32}{'calls/s':>9}{'CPU us/call':>13}{'ratio':>7}"]
    first = median_of(found[CURVE[0]])["per_s"]
    for count, rounds_of in found.items():
        figures = median_of(rounds_of)
        per_s, cpu_us = figures["per_s"], figures["cpu_us"]
        lines.append(f"{count:<32}{per_s:>9.0f}{cpu_us:>13.1f}{per_s / first:>7.2f}")
    return lines


def compare_once(folder: Path, rounds: int) -> Compared:
    """Start what the first table compares in a scratch folder, measure, and end it. Raises
    BenchError."""
    with ExitStack() as stack:
        pin(LOAD_CPU)
        server = stack.enter_context(running_postgresql())
        redis = stack.enter_context(running_redis())
        upstream = stack.enter_context(Programs(folder)).start_upstream()
        subjects: list[Subject] = []
        for name, limits in (("", ()), (FIVE, LIMITS)):
            for storage in (EMBEDDED, SHARED):
                env = shared_env(server, redis) if storage == SHARED else {}
                own = Programs(folder / f"{len(subjects)}", env=env)
                programs = stack.enter_context(own)
                key = set_up(programs, upstream, limits)
                subjects.append(Subject(programs.start_gateway(f"{storage}{name}"), key))
        return uvloop.run(compare(subjects, upstream, rounds))


def draw_curve(folder: Path, rounds: int) -> list[str]:
    """Do as compare_once for the second table; return its lines."""
    with ExitStack() as stack:
        pin(None)
        server = stack.enter_context(running_postgresql())
        redis = stack.enter_context(running_redis())
        own = Programs(folder, env=shared_env(server, redis))
        programs = stack.enter_context(own)
        upstream = programs.start_upstream(cpu=None)
        key = set_up(programs, upstream, ())
        several = [programs.start_gateway(f"process {n}", cpu=None) for n in range(max(CURVE))]
        return uvloop.run(curve(several, key, rounds))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.storages", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="how often each takes its turn")
    parser.add_argument(
        "--starts",
        type=int,
        default=1,
        help="how often the gateways of the first table are started anew, with all rounds each",
    )
    options = parser.parse_args()
    home = Path(os.environ.get("TOLLHOUSE_HOME") or ROOT / "var").resolve() / "bench"
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="run-", dir=home))
    try:
        starts = [compare_once(folder / str(n), options.rounds) for n in range(options.starts)]
        lines = [*comparison(starts), "", *draw_curve(folder / "curve", options.rounds)]
    except BenchError as error:
        print(f"Nothing was measured: {error}", file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
