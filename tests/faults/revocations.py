"""Revoke keys, lock workspaces and tighten rules under load: who is refused, and when.

Every process is called with a key without pause while it is revoked, its workspace locked, its
models restricted, its budget lowered below what it has spent, or a limit rule of it tightened; also
while Redis is stopped.

`make prove-revocation` runs many rounds and prints its report; options: rounds=, storage=,
processes=.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from tests.faults.cluster import Cluster, running_cluster
from tests.faults.load import Seen, keep_calling
from tests.flows.caller import Caller
from tests.flows.office import Office, open_office
from tests.support.servers import prepare_home, running_upstream
from tests.support.storage import POSTGRESQL, SQLITE, STORAGES
from tests.support.waiting import wait_until

PROMISED_S, STREAMS_PROMISED_S = 1.0, 2.0
WITHIN_S = 30.0
LONG = "script:endless&delay_ms=20"
# Of calls besides, in the background.
CALLERS = 4
UNAVAILABLE = 503  # a busy machine: neither let in nor refused for good
MANY = ("--maximum", "1000000")


def revoke(office: Office, caller: Caller) -> None:
    office.do("revoke", key_id=caller.key_id)


def lock(office: Office, caller: Caller) -> None:
    office.do("lock", workspace_id=caller.workspace_id)


def restrict_models(office: Office, caller: Caller) -> None:
    office.do("edit_key", key_id=caller.key_id, allowed_models=["lost-model"])


def lower_budget(office: Office, caller: Caller) -> None:
    office.do("limit_key", key_id=caller.key_id, total_limit_nusd=1)


def tighten_rule(office: Office, caller: Caller) -> None:
    [rule] = office.do("command", name="list_limit_rules", arguments=["--key", caller.key_id])[
        "limits"
    ]
    tighter = ["--rule", rule["rule_id"], "--maximum", "1"]
    office.do("command", name="set_limit_rule", arguments=tighter)


@dataclass(frozen=True)
class Change:
    """refusal: the status of calls from then on. ends_streams: those that run end, too."""

    name: str
    make: Callable[[Office, Caller], None]
    refusal: int
    ends_streams: bool = False


CHANGES = (
    Change("revoked", revoke, 401, ends_streams=True),
    Change("locked", lock, 403, ends_streams=True),
    Change("restricted", restrict_models, 403),
    Change("budget lowered", lower_budget, 402),
    Change("rule tightened", tighten_rule, 429),
)


@dataclass
class Figures:
    """Of one change, over all rounds and processes. Seconds after the change was committed.

    last_s: when the last call was begun that was still let in; stream_s: when the last stream
    ended. late: how many calls were let in that were begun after PROMISED_S.
    """

    rounds: int = 0
    last_s: float = 0.0
    stream_s: float = 0.0
    late: int = 0
    late_streams: int = 0
    unexpected: list[str] = field(default_factory=list)

    @property
    def is_kept(self) -> bool:
        return not (self.late or self.late_streams)


@dataclass
class _Watch:
    """One process, called without pause until it has refused for a while."""

    caller: Caller
    refusal: int
    let_in_s: list[float] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    refused: threading.Event = field(default_factory=threading.Event)
    stop: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        while not self.stop.is_set():
            begun_s = time.monotonic()
            status = self.caller.ask("a", max_tokens=5).status
            if status == 200:
                self.let_in_s.append(begun_s)
                self.refused.clear()
            elif status == self.refusal:
                self.refused.set()
            elif status != UNAVAILABLE:
                self.others.append(f"status {status}")


@dataclass(frozen=True)
class Trial:
    """Changes in a running cluster."""

    cluster: Cluster
    office: Office

    def run(self, change: Change, figures: Figures) -> None:
        """Make the change once and add what it came to."""
        workspace = self.office.do("workspace", name="Trial", credit_nusd=10**9)
        made = self.office.do("key", workspace_id=workspace)
        rule = ["--key", made["key_id"], "--metric", "requests", "--period", "day", *MANY]
        self.office.do("command", name="set_limit_rule", arguments=rule)
        first = Caller(0, made["secret"], made["key_id"], workspace)
        callers = [replace(first, port=server.port) for server in self.cluster.servers]
        watches = [_Watch(caller, change.refusal) for caller in callers]
        with ExitStack() as stack, ThreadPoolExecutor(2 * len(callers)) as threads:
            streams = [
                stack.enter_context(caller.begin(LONG, stream=True, max_tokens=4_000))
                for caller in callers
            ]
            for stream in streams:
                stream.wait_for_tokens(2)
            ends = [threads.submit(_end_of, stream.lines()) for stream in streams]
            running = [threads.submit(watch.run) for watch in watches]
            wait_until(lambda: all(watch.let_in_s for watch in watches), what="calls everywhere")
            change.make(self.office, first)
            changed_s = time.monotonic()
            try:
                for watch in watches:
                    watch.refused.wait(WITHIN_S)
                time.sleep(PROMISED_S)
            finally:
                for watch in watches:
                    watch.stop.set()
                for call in running:
                    call.result()
                if not change.ends_streams:
                    for stream in streams:
                        stream.leave()
            ended_s = [end.result() - changed_s for end in ends] if change.ends_streams else []
        figures.rounds += 1
        _add(figures, watches, changed_s, ended_s)


def _end_of(lines: Iterator[str]) -> float:
    """Read a stream to its end; return when that was."""
    try:
        for _ in lines:
            pass
    except (OSError, ValueError):
        pass
    return time.monotonic()


def _add(
    figures: Figures, watches: Sequence[_Watch], changed_s: float, ended_s: Sequence[float]
) -> None:
    let_in = [begun_s - changed_s for watch in watches for begun_s in watch.let_in_s]
    figures.last_s = max(figures.last_s, round(max(let_in), 3))
    figures.late += sum(begun_s > PROMISED_S for begun_s in let_in)
    figures.stream_s = max([figures.stream_s, *(round(s, 3) for s in ended_s)])
    figures.late_streams += sum(s > STREAMS_PROMISED_S for s in ended_s)
    figures.unexpected += [text for watch in watches for text in watch.others]
    figures.unexpected += ["never refused" for watch in watches if not watch.refused.is_set()]


@contextmanager
def under_load(cluster: Cluster) -> Iterator[None]:
    """Make all kinds of calls to all processes while the block runs."""
    loop = asyncio.new_event_loop()
    calls = keep_calling(
        cluster.origins,
        cluster.keys,
        Seen(sys.maxsize),
        Random(1),
        callers=CALLERS,
    )
    task = loop.create_task(calls)
    ends = asyncio.wait([task])
    thread = threading.Thread(target=lambda: loop.run_until_complete(ends))
    thread.start()
    try:
        yield
    finally:
        loop.call_soon_threadsafe(task.cancel)
        thread.join()
        loop.close()


def run_revocations(home: Path, *, storage: str, processes: int, rounds: int) -> dict[str, Figures]:
    """Return the figures of each change, with Redis and without. home: see running_cluster."""
    found: dict[str, Figures] = {}
    with ExitStack() as stack:
        upstream = stack.enter_context(running_upstream())
        cluster = stack.enter_context(
            running_cluster(home, upstream, storage=storage, processes=processes)
        )
        office = stack.enter_context(open_office(cluster.home, {"REDIS_URL": cluster.redis.url}))
        trial = Trial(cluster, office)
        stack.enter_context(under_load(cluster))
        for redis in ("", ", Redis stopped"):
            if redis:
                cluster.redis.stop()
            for _ in range(rounds):
                for change in CHANGES:
                    trial.run(change, found.setdefault(f"{change.name}{redis}", Figures()))
        cluster.redis.start()
    return found


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--storage", choices=STORAGES, default=POSTGRESQL)
    parser.add_argument("--processes", type=int, default=4)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="tollhouse-revocations-") as folder:
        home = Path(folder) / "home"
        if options.storage == SQLITE:
            prepare_home(home)
        found = run_revocations(
            home, storage=options.storage, processes=options.processes, rounds=options.rounds
        )
    for name, figures in found.items():
        sys.stdout.write(f"{name:<32} {figures}\n")
    is_kept = all(f.is_kept and not f.unexpected for f in found.values())
    sys.stdout.write("KEPT\n" if is_kept else "NOT KEPT\n")
    return 0 if is_kept else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
