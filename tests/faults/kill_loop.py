"""SIGKILL server processes, Redis and the database server under load, then prove the ledger.

Around the kills disks turn read-only, the database is locked, processes are stopped, the home is
moved, and bits of a journal are flipped: only the records with a flipped bit may be missing, and
each is reported.

`make prove-kills` runs the large one and prints its report; options: calls=, kills=, minutes=,
storage=, processes=, seed=.
"""

from __future__ import annotations

import argparse
import asyncio
import secrets
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain, count
from pathlib import Path
from random import Random

from tests.faults.cluster import Cluster, running_cluster
from tests.faults.disruptions import DATABASE, FLIPPED, REDIS, Disruptions, kinds_for
from tests.faults.kill_report import BACK_WITHIN_S, Report, write_report
from tests.faults.load import Seen, keep_calling
from tests.faults.recovery import Recovery, watch_recovery
from tests.support.rows import count as count_rows
from tests.support.servers import prepare_home, running_upstream
from tests.support.storage import POSTGRESQL, SQLITE, STORAGES
from tests.support.waiting import wait_until

CALLERS = 12
KILL_AFTER_S = (0.1, 0.5)  # of load, between two kills
LOOK_S = 0.005
RUNNING = "gateway_callrecord WHERE status = 'in_progress'"
CALM = 0.15
QUIET_CALLS = 500  # when the time is up


@dataclass(frozen=True)
class Plan:
    """kills: of server processes, Redis and the database server together; 0 is as many as there is
    time for. Kills stop when CALM of the calls are left: those that the caller leaves need some
    quiet to be estimated and settled. So many kills share the calls, however fast these are.
    minutes: when to stop making calls, if not before; 0 is never. kinds: what happens, each in
    turn; none are those that the cluster can be exposed to, the usual ones more often."""

    calls: int
    seed: int
    kills: int = 0
    minutes: float = 0
    storage: str = SQLITE
    processes: int = 1
    callers: int = CALLERS
    kinds: Sequence[str] = ()
    # Takes up to 40 s.
    watches_recovery: bool = True


def run_kill_loop(home: Path, plan: Plan) -> Report:
    """Run until so many calls were made. home: see running_cluster."""
    started_s = time.monotonic()
    with (
        running_upstream() as upstream,
        running_cluster(home, upstream, storage=plan.storage, processes=plan.processes) as cluster,
    ):
        run = _Run(cluster, plan)
        asyncio.run(run.kill_under_load())
        wait_until(lambda: count_rows(cluster.home, RUNNING) == 0, what="calls to be settled")
        recovery = watch_recovery(cluster) if plan.watches_recovery else Recovery()
        # All are killed too; whoever starts next reaps them, and leaves in good order.
        for server in cluster.servers:
            server.kill()
        for server in cluster.servers:
            server.restart()
        for server in cluster.servers:
            server.stop()
        report = write_report(cluster, run.seen, recovery)
    report.storage, report.processes, report.seed = plan.storage, plan.processes, plan.seed
    report.disruptions, report.damaged = dict(run.disruptions.log), run.disruptions.damaged
    report.server_kills = run.server_kills + 1 + plan.processes
    report.redis_kills = run.disruptions.log[REDIS]
    report.database_kills = run.disruptions.log[DATABASE]
    report.duration_s = round(time.monotonic() - started_s, 1)
    return report


@dataclass
class _Run:
    """One run's load and kills."""

    cluster: Cluster
    plan: Plan
    server_kills: int = 0
    seen: Seen = field(init=False)
    rng: Random = field(init=False)
    disruptions: Disruptions = field(init=False)
    # Calls that were made while there had to be records.
    _extra: int = 0
    # Of the server processes that were killed and come back meanwhile.
    _restarts: dict[int, asyncio.Task[None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.seen = Seen(self.plan.calls)
        self.rng = Random(self.plan.seed)
        self.disruptions = Disruptions(self.cluster, self.rng)

    async def kill_under_load(self) -> None:
        plan = self.plan
        load = asyncio.ensure_future(
            keep_calling(
                self.cluster.origins,
                self.cluster.keys,
                self.seen,
                self.rng,
                callers=plan.callers,
            )
        )
        enough = int(plan.calls * (1 - CALM))
        kinds = self._kinds()
        until_s = time.monotonic() + plan.minutes * 60 if plan.minutes else float("inf")
        killed = 0
        while killed < plan.kills if plan.kills else self.seen.calls < enough + self._extra:
            if time.monotonic() > until_s:
                self.seen.wanted = self.seen.calls + QUIET_CALLS
                break
            share = enough * (killed + 1) // (plan.kills + 1) if plan.kills else enough
            share += self._extra
            # Other processes serve meanwhile, and are not to use up the calls of later kills.
            self.seen.allowed = min(share + enough // (plan.kills + 1), enough + self._extra)
            kill_at_s = time.monotonic() + self.rng.uniform(*KILL_AFTER_S)
            while time.monotonic() < kill_at_s and self.seen.calls < share and not load.done():
                await asyncio.wait([load], timeout=LOOK_S)
            await self._strike(next(kinds))
            killed += 1
        self.seen.allowed = self.seen.wanted
        await asyncio.gather(*self._restarts.values())
        await load

    def _kinds(self) -> Iterator[str]:
        kinds = self.plan.kinds or kinds_for(self.cluster)
        return chain.from_iterable(self.rng.sample(kinds, len(kinds)) for _ in count())

    async def _strike(self, kind: str) -> None:
        if kind in (REDIS, DATABASE):
            # A server process does not start without them.
            await asyncio.gather(*self._restarts.values())
            await self.disruptions.kill_part(kind)
            return
        number = await self._choose()
        server = self.cluster.servers[number]
        if kind == FLIPPED:  # there must be records, and calls for the kills that follow
            before = self.seen.calls
            self.seen.allowed = self.seen.wanted = sys.maxsize
            await self.disruptions.before_kill(kind, server)
            self._extra += self.seen.calls - before
            self.seen.wanted = self.plan.calls + self._extra
        else:
            await self.disruptions.before_kill(kind, server)
        server.kill()
        self.server_kills += 1
        await asyncio.to_thread(self.disruptions.after_kill, kind, server)
        self._restarts[number] = asyncio.ensure_future(asyncio.to_thread(server.restart))

    async def _choose(self) -> int:
        """Choose a running process of at least half of all, or of the only one."""
        most_away = len(self.cluster.servers) // 2
        while sum(not task.done() for task in self._restarts.values()) > max(most_away - 1, 0):
            away = [task for task in self._restarts.values() if not task.done()]
            await asyncio.wait(away, return_when=asyncio.FIRST_COMPLETED)
        for task in self._restarts.values():
            if task.done():
                task.result()
        return self.rng.choice(
            [
                number
                for number in range(len(self.cluster.servers))
                if number not in self._restarts or self._restarts[number].done()
            ]
        )


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=0, help="0: as many as there is time for")
    parser.add_argument("--minutes", type=float, default=0, help="stop making calls then")
    parser.add_argument("--storage", choices=STORAGES, default=SQLITE)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seed", type=int, default=secrets.randbits(32))
    parser.add_argument("--callers", type=int, default=CALLERS)
    plan = Plan(**vars(parser.parse_args(arguments)))
    if plan.processes > 1 and plan.storage != POSTGRESQL:
        parser.error("several processes need storage=postgresql")
    sys.stdout.write(f"seed {plan.seed}\n")
    with tempfile.TemporaryDirectory(prefix="tollhouse-kills-") as folder:
        home = Path(folder) / "home"
        if plan.storage == SQLITE:
            prepare_home(home)
        report = run_kill_loop(home, plan)
    for name, value in asdict(report).items():
        sys.stdout.write(f"{name:<20} {value}\n")
    if not report.is_in_time:
        sys.stdout.write(f"slots or purses were back after more than {BACK_WITHIN_S:.0f} s\n")
    sys.stdout.write("CLEAN\n" if report.is_clean else "NOT CLEAN\n")
    return 0 if report.is_clean and report.is_in_time else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
