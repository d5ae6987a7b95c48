"""Replace the processes of a host, and kill another host, while calls are made to both.

Two hosts (each an `up` with its own home) share a PostgreSQL and a Redis. No call may fail because
processes are replaced. When a host is killed, only its own calls may break; those are not charged,
and its journal has the others, once it is back.

`make prove-restarts` runs the large one and prints its report; options: restarts=, rate=, workers=.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.faults.kill_report import bare
from tests.faults.steady_load import STREAMED, CallSeen, SteadyLoad
from tests.launch.installation import Installation, is_alive, running
from tests.support.redis import running_redis
from tests.support.rows import select
from tests.support.servers import (
    UpstreamServer,
    manage_json,
    prepare_home,
    run_manage,
    running_upstream,
)
from tests.support.storage import database_of, use_postgresql
from tests.support.waiting import wait_until

REPLACED = "All server processes have been replaced."
MODEL = "fake-model"
WITHIN_S = 180.0
SHOWN = 20  # of calls that went wrong


@dataclass(frozen=True)
class Plan:
    """steady_s: how long calls are made before and after each event."""

    restarts: int = 10
    rate: float = 200.0
    workers: int = 2
    steady_s: float = 3.0


@dataclass
class Report:
    """The last five are what must be nothing."""

    calls: int
    whole: int
    streams: int
    # Of the killed host, by what its records say; those without an answer's head have no ID.
    broken: dict[str, int]
    unanswered: int
    # Beyond what the machine could carry.
    skipped: int
    restarts: int = 0
    duration_s: float = 0
    failed_by_restarts: list[str] = field(default_factory=list)
    failed_elsewhere: list[str] = field(default_factory=list)
    broken_and_charged: list[str] = field(default_factory=list)
    whole_and_not_ok: list[str] = field(default_factory=list)
    breaks: str = ""

    @property
    def is_clean(self) -> bool:
        failed = self.failed_by_restarts or self.failed_elsewhere
        return not (failed or self.broken_and_charged or self.whole_and_not_ok or self.breaks)


@dataclass(frozen=True)
class Hosts:
    """env: what both are told."""

    kept: Installation
    killed: Installation
    key: str
    env: dict[str, str]

    @property
    def origins(self) -> list[str]:
        return [f"http://127.0.0.1:{host.port}" for host in (self.kept, self.killed)]


def run_restarts(folder: Path, plan: Plan) -> Report:
    """folder: an empty one."""
    started_s = time.monotonic()
    with _running_hosts(folder, plan) as hosts:
        with SteadyLoad(hosts.origins, hosts.key, MODEL, plan.rate) as load:
            time.sleep(plan.steady_s)
            for number in range(plan.restarts):
                _replace((hosts.kept, hosts.killed)[number % 2])
                time.sleep(plan.steady_s)
            failed_before = load.failed()
            _kill(hosts.killed)
            time.sleep(plan.steady_s)
        with running(hosts.killed.home, port=hosts.killed.port, env=hosts.env):
            records = wait_until(
                lambda: _read_records(hosts.kept.home, load.calls),
                within_s=WITHIN_S,
                what="a record of each call",
            )
            report = _compare(load, failed_before, hosts.killed, records)
        home = hosts.kept.home
    report.restarts = plan.restarts
    done = run_manage(home, "prove", "--json")
    report.breaks = "" if done.returncode == 0 else done.stdout + done.stderr
    report.duration_s = round(time.monotonic() - started_s, 1)
    return report


@contextmanager
def _running_hosts(folder: Path, plan: Plan) -> Iterator[Hosts]:
    home, other = folder / "kept", folder / "killed"
    use_postgresql(home)
    prepare_home(home)
    manage_json(home, "create_workspace", "Steady", "--credit", "1000")
    key = manage_json(home, "issue_key", "steady", "steady")["secret"]
    shutil.copytree(home, other)
    use_postgresql(other, database_of(home))
    with ExitStack() as stack:
        redis = stack.enter_context(running_redis())
        upstream = stack.enter_context(running_upstream())
        _add_model(home, upstream)
        env = {"REDIS_URL": redis.url, "WORKERS": str(plan.workers)}
        kept, killed = (stack.enter_context(running(path, env=env)) for path in (home, other))
        yield Hosts(kept, killed, key, env)


def _add_model(home: Path, upstream: UpstreamServer) -> None:
    kind = ("--kind", "openai_compatible", "--base-url")
    manage_json(home, "add_provider", "fake", *kind, upstream.base_url)
    prices = ("--input", "0.1505", "--output", "0.6015", "--max-output", "4096")
    manage_json(home, "add_model", MODEL, "--provider", "fake", "--native", "fake", *prices)


def _replace(host: Installation) -> None:
    """Replace all server processes of a host; return when the old ones have ended."""
    replaced = host.said.count(REPLACED)
    host.process.send_signal(signal.SIGHUP)
    wait_until(
        lambda: host.said.count(REPLACED) > replaced, within_s=WITHIN_S, what="new processes"
    )


def _kill(host: Installation) -> None:
    """SIGKILL everything of a host at once."""
    pids = [host.process.pid, *_descendants(host.process.pid)]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    host.process.wait()
    wait_until(lambda: not any(is_alive(pid) for pid in pids), what="the end of the host")


def _descendants(pid: int) -> list[int]:
    children = [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return children + [found for child in children for found in _descendants(child)]


def _read_records(home: Path, calls: Sequence[CallSeen]) -> dict[str, tuple[str, int]]:
    """Return status and charge of every call that was told an ID, by that; nothing while one of
    them is not there or has not ended."""
    rows = select(home, "SELECT id, status, charge_nusd FROM gateway_callrecord")
    found = {row[0]: (row[1], int(row[2])) for row in rows}
    if any(status == "in_progress" for status, _ in found.values()):
        return {}
    known = {bare(call.call_id) for call in calls if call.call_id}
    return found if known <= found.keys() else {}


def _compare(
    load: SteadyLoad,
    failed_before: Sequence[CallSeen],
    killed: Installation,
    records: Mapping[str, tuple[str, int]],
) -> Report:
    failed = [call for call in load.failed() if call not in failed_before]
    of_killed = [call for call in failed if call.origin.endswith(f":{killed.port}")]
    broken = {call.call_id: records[bare(call.call_id)] for call in of_killed if call.call_id}
    whole = {call.call_id: records[bare(call.call_id)] for call in load.calls if call.is_whole}
    return Report(
        calls=len(load.calls),
        streams=sum(call.kind == STREAMED for call in load.calls),
        whole=len(whole),
        skipped=load.skipped,
        broken=dict(Counter(status for status, _ in broken.values())),
        unanswered=sum(not call.call_id for call in of_killed),
        failed_by_restarts=[str(call) for call in failed_before[:SHOWN]],
        failed_elsewhere=[str(call) for call in failed if call not in of_killed][:SHOWN],
        broken_and_charged=[call_id for call_id, (_, charge) in broken.items() if charge],
        whole_and_not_ok=[call_id for call_id, (status, _) in whole.items() if status != "ok"],
    )


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--restarts", type=int, default=Plan.restarts)
    parser.add_argument("--rate", type=float, default=Plan.rate, help="calls per second")
    parser.add_argument("--workers", type=int, default=Plan.workers, help="of each host")
    plan = Plan(**vars(parser.parse_args(arguments)))
    with tempfile.TemporaryDirectory(prefix="tollhouse-restarts-") as folder:
        report = run_restarts(Path(folder), plan)
    for name, value in asdict(report).items():
        sys.stdout.write(f"{name:<20} {value}\n")
    sys.stdout.write("CLEAN\n" if report.is_clean else "NOT CLEAN\n")
    return 0 if report.is_clean else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
