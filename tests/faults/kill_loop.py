"""SIGKILL the server again and again under load, then let the ledger be proved.

Between the kills its disk turns read-only, its database is locked, its home is moved, and bits of
its journal are flipped: only the records with a flipped bit may be missing, and each is reported.

`python -m tests.faults.kill_loop --calls 10000` runs the large one and prints its report.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import secrets
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from itertools import chain, count
from pathlib import Path
from random import Random
from typing import Any

from tests.faults.disruptions import KINDS, Disruptions
from tests.faults.load import Seen, keep_calling
from tests.support.servers import (
    GatewayServer,
    UpstreamServer,
    prepare_home,
    run_manage,
    running_gateway,
    running_upstream,
)
from tests.support.waiting import wait_until

CALLERS = 12
KILL_AFTER_S = (0.1, 0.5)  # of load, between two kills
LOOK_S = 0.005
RUNNING = "gateway_callrecord WHERE status = 'in_progress'"
CALM = 0.15


@dataclass
class Report:
    """What a run came to. The last eight are what must be nothing.

    damaged, reported: how many records were made unreadable, and how many `prove` tells of.
    """

    seed: int
    calls: int
    kills: int
    duration_s: float
    disruptions: dict[str, int]
    outcomes: dict[str, int]
    statuses: dict[str, int]
    ids_seen: int
    upstream_calls: int
    damaged: int = 0
    reported: int = 0
    other_faults: list[str] = field(default_factory=list)
    ids_without_record: list[str] = field(default_factory=list)
    # Answers to calls with an Idempotency-Key: recorded as aborted, or another one the next time.
    given_and_aborted: list[str] = field(default_factory=list)
    given_otherwise: list[str] = field(default_factory=list)
    holds_left: int = 0
    purses_left: int = 0
    processes_left: int = 0
    breaks: list[str] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        left = self.holds_left + self.purses_left + self.processes_left
        missing = self.ids_without_record or self.other_faults
        # What kept the answer may have been in a damaged record.
        is_kept = len(self.given_and_aborted) + len(self.given_otherwise) <= self.damaged
        is_right = is_kept and self.damaged == self.reported
        return is_right and not (missing or self.breaks or left)


def run_kill_loop(
    home: Path,
    *,
    calls: int,
    seed: int,
    kills: int | None = None,
    callers: int = CALLERS,
    kinds: Sequence[str] = KINDS,
) -> Report:
    """Run on a home that was prepared, until so many calls were made.

    Kills stop after so many, if given, or when CALM of the calls are left: those that the caller
    leaves need some quiet to be estimated and settled. So many kills share the calls, however
    fast these are. kinds: what befalls the server around the kills, each in turn.
    """
    started_s = time.monotonic()
    rng = Random(seed)
    seen = Seen()
    disruptions = Disruptions(home.with_name("read-only"), rng)
    with running_upstream() as upstream:
        with running_gateway(home, env=disruptions.environment) as server:
            _give_it_work(server, upstream)
            chosen = chain.from_iterable(rng.sample(kinds, len(kinds)) for _ in count())
            killed = asyncio.run(
                _kill_under_load(server, seen, disruptions, chosen, calls, kills, callers)
            )
            wait_until(lambda: _count_running(server.home) == 0, what="calls to be settled")
            # The last one is killed too; whoever starts next reaps it, and leaves in good order.
            server.kill()
            server.restart()
            server.stop()
        report = _report(server.home, upstream, seen)
    report.disruptions, report.damaged = disruptions.log, disruptions.damaged
    report.seed, report.kills = seed, killed + 1
    report.duration_s = round(time.monotonic() - started_s, 1)
    return report


def _give_it_work(server: GatewayServer, upstream: UpstreamServer) -> None:
    provider = ("add_provider", "fake", "--kind", "openai_compatible")
    server.manage(*provider, "--base-url", upstream.base_url)
    model = ("add_model", "fake-model", "--provider", "fake", "--native", "fake")
    # Prices that leave fractions of a nano-dollar, so that rounding is exercised.
    server.manage(*model, "--input", "0.1505", "--output", "0.6015", "--max-output", "4096")


async def _kill_under_load(
    server: GatewayServer,
    seen: Seen,
    disruptions: Disruptions,
    kinds: Iterator[str],
    calls: int,
    kills: int | None,
    callers: int,
) -> int:
    """Return how often the server was killed."""
    rng = disruptions.rng
    load = asyncio.ensure_future(
        keep_calling(server.origin, server.key, seen, rng, callers=callers, wanted=calls)
    )
    killed = 0
    enough = int(calls * (1 - CALM))
    while seen.calls < enough and (kills is None or killed < kills):
        share = enough * (killed + 1) // (kills + 1) if kills else enough
        kill_at_s = time.monotonic() + rng.uniform(*KILL_AFTER_S)
        while time.monotonic() < kill_at_s and seen.calls < share and not load.done():
            await asyncio.wait([load], timeout=LOOK_S)
        kind = next(kinds)
        await disruptions.before_kill(kind, server)
        server.kill()
        killed += 1
        await asyncio.to_thread(disruptions.after_kill, kind, server)
        await asyncio.to_thread(server.restart)
    await load
    return killed


def _report(home: Path, upstream: UpstreamServer, seen: Seen) -> Report:
    with closing(sqlite3.connect(home / "tollhouse.sqlite3")) as database:
        recorded = {row[0] for row in database.execute("SELECT id FROM gateway_callrecord")}
        aborted = _aborted(database)
        statuses = database.execute("SELECT status, COUNT(*) FROM gateway_callrecord GROUP BY 1")
        report = Report(
            seed=0,
            calls=seen.calls,
            kills=0,
            duration_s=0,
            disruptions={},
            outcomes=dict(seen.outcomes),
            statuses=dict(statuses.fetchall()),
            ids_seen=len(seen.ids),
            upstream_calls=len(upstream.book()),
            ids_without_record=sorted(
                text for text in seen.ids if text.replace("-", "") not in recorded
            ),
            given_and_aborted=sorted(
                text for text in seen.given if text.replace("-", "") in aborted
            ),
            given_otherwise=seen.given_again,
            holds_left=_count(database, RUNNING),
            purses_left=_count(database, "accounts_purse WHERE amount_nusd <> 0"),
            processes_left=_count(database, "gateway_servingprocess WHERE state = 'alive'"),
        )
    done = run_manage(home, "prove", "--json", "--upstream-usage", f"{upstream.origin}/book")
    proof: dict[str, Any] = json.loads(done.stdout)
    report.breaks = proof["breaks"]
    for fault in proof["journal_faults"]:
        if fault["kind"] == "damaged":
            report.reported += fault["records"]
        else:
            report.other_faults.append(f"{fault['kind']}: {fault['reason']}")
    return report


def _aborted(database: sqlite3.Connection) -> set[str]:
    rows = database.execute("SELECT id FROM gateway_callrecord WHERE status = 'platform_aborted'")
    return {row[0] for row in rows}


def _count_running(home: Path) -> int:
    with closing(sqlite3.connect(home / "tollhouse.sqlite3")) as database:
        return _count(database, RUNNING)


def _count(database: sqlite3.Connection, rows: str) -> int:
    return int(database.execute(f"SELECT COUNT(*) FROM {rows}").fetchone()[0])


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=secrets.randbits(32))
    parser.add_argument("--callers", type=int, default=CALLERS)
    options = parser.parse_args(arguments)
    sys.stdout.write(f"seed {options.seed}\n")
    with tempfile.TemporaryDirectory(prefix="tollhouse-kills-") as folder:
        home = Path(folder) / "home"
        prepare_home(home)
        report = run_kill_loop(
            home, calls=options.calls, seed=options.seed, callers=options.callers
        )
    for name, value in asdict(report).items():
        sys.stdout.write(f"{name:<20} {value}\n")
    sys.stdout.write("CLEAN\n" if report.is_clean else "NOT CLEAN\n")
    return 0 if report.is_clean else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
