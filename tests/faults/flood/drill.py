"""One drill: quiet, then a flood, and what a good caller, the memory and the disk say of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import msgspec
import uvloop

from tests.faults.flood.attacker import LIMITS, Orders
from tests.faults.flood.attacks import SIMULATED, Target
from tests.faults.flood.good_caller import Timings, call_for
from tests.faults.flood.hostile_server import FLOODS
from tests.flows.office import open_office
from tests.support.servers import (
    ROOT,
    GatewayServer,
    UpstreamServer,
    running_gateway,
    running_upstream,
)

LOOK_S = 0.05
# What the good caller's provider takes in the drill of limits, so that its calls wait for a place.
LIMITED_MS = 100
SERVER_CPU, LOAD_CPU = 0, 1
# The hostile file server is on this machine, and files come from the public network alone.
SETTINGS = {
    "TOLLHOUSE_FETCH_ALLOWED_NETWORKS": "127.0.0.0/8",
    # What tests switch off, as installations have it.
    "TOLLHOUSE_WRONG_KEYS": "50",
    "TOLLHOUSE_REFUSALS_PER_S": "250",
    "TOLLHOUSE_SHED_LAG_MS": "500",
}


@dataclass
class Report:
    """Memory: the most that the server process and its children held at once."""

    kind: str
    quiet_p50_ms: float
    quiet_p99_ms: float
    flood_p50_ms: float
    flood_p99_ms: float
    calls: dict[str, int]
    memory_mb: float
    spooled_bytes: int
    attempts: dict[str, dict[str, int]] = field(default_factory=dict)

    @property
    def ratio(self) -> float:
        return self.flood_p99_ms / self.quiet_p99_ms if self.quiet_p99_ms else 0.0


class Watcher:
    """Looks at a process every 50 ms: its memory, and what it has open in its scratch folder."""

    def __init__(self, pid: int, scratch: Path) -> None:
        self.memory_bytes = self.spooled_bytes = 0
        self._pid, self._scratch = pid, scratch
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Watcher:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._stop.wait(LOOK_S):
            pids = [self._pid, *_children(self._pid)]
            self.memory_bytes = max(self.memory_bytes, sum(map(_rss_bytes, pids)))
            spooled = sum(_open_bytes(pid, self._scratch) for pid in pids)
            self.spooled_bytes = max(self.spooled_bytes, spooled)


def run_drill(
    home: Path,
    kind: str,
    *,
    connections: int,
    quiet_s: float,
    flood_s: float,
    provider_ms: int = 0,
) -> Report:
    """Run on a home that was prepared. kind: one of attacker.KINDS. provider_ms: what the good
    caller's provider takes for a response."""
    scratch = home / "scratch"
    scratch.mkdir(exist_ok=True)
    settings = SETTINGS | {"TMPDIR": str(scratch)}
    with (
        running_upstream() as upstream,
        _hostile_server() as hostile_port,
        running_gateway(home, env=settings) as server,
    ):
        target = _prepare(server, upstream, hostile_port, has_hostile_models=kind == "providers")
        if kind == LIMITS:
            provider_ms = provider_ms or LIMITED_MS
            server.manage("set_workspace", "Demo", "--max-concurrent", str(connections // 20))
        prompt = f"script:tokens=1&first_ms={provider_ms}" if provider_ms else "hello"
        _pin(server.process.pid, SERVER_CPU)
        for pid in (0, upstream.process.pid):
            _pin(pid, LOAD_CPU)
        _call(server, prompt, quiet_s / 3)  # warm up
        quiet = _call(server, prompt, quiet_s)
        orders = Orders(kind, target, connections, flood_s + 2)
        with Watcher(server.process.pid, scratch) as watcher, _attackers(orders) as attackers:
            flood = _call(server, prompt, flood_s)
            printed, _ = attackers.communicate(timeout=120)
        assert server.process.poll() is None, server.log.read_text()[-2000:]
    return Report(
        kind=kind,
        quiet_p50_ms=quiet.percentile(0.5),
        quiet_p99_ms=quiet.percentile(0.99),
        flood_p50_ms=flood.percentile(0.5),
        flood_p99_ms=flood.percentile(0.99),
        calls=dict(flood.ended),
        memory_mb=round(watcher.memory_bytes / 1e6, 1),
        spooled_bytes=watcher.spooled_bytes,
        attempts=json.loads(printed),
    )


def as_lines(report: Report) -> Iterator[str]:
    for name, value in (asdict(report) | {"p99_ratio": round(report.ratio, 2)}).items():
        if name != "attempts":
            yield f"{name:<16} {value}"
    for attack, ended in report.attempts.items():
        yield f"  {attack:<18} {ended}"


def _prepare(
    server: GatewayServer, upstream: UpstreamServer, hostile_port: int, *, has_hostile_models: bool
) -> Target:
    """Add the provider of the good caller, and the models of the hostile one where asked for."""
    floods = FLOODS if has_hostile_models else {}
    models = {f"hostile-{flood}": flood for flood in floods}
    with open_office(server.home) as office:
        prices = {"input_pusd": 10_000, "output_pusd": 10_000, "max_output_tokens": 4_096}
        office.do("provider", name="fake", base_url=upstream.base_url)
        office.do("model", name="good", provider="fake", **prices)
        for model, flood in models.items():
            url = f"http://127.0.0.1:{hostile_port}/{flood}/v1"
            office.do("provider", name=flood.replace("_", "-"), base_url=url)
            office.do("model", name=model, provider=flood.replace("_", "-"), **prices)
    for model in ("good", *models):
        server.wait_for_model(model)
    server.manage("set_model", SIMULATED, "--input", "0", "--cached-input", "0", "--output", "0")
    hostile_key = server.manage("issue_key", "Demo", "hostile")["secret"]
    limited = ("issue_key", "Demo", "limited", "--max-requests-per-minute", "60")
    limited_key = server.manage(*limited)["secret"]
    file_url = f"http://127.0.0.1:{hostile_port}/interims"
    return Target(server.port, hostile_key, limited_key, "good", file_url, tuple(models))


def _call(server: GatewayServer, prompt: str, duration_s: float) -> Timings:
    return uvloop.run(call_for(server.port, server.key, prompt, duration_s))


@contextmanager
def _attackers(orders: Orders) -> Iterator[subprocess.Popen[bytes]]:
    text = msgspec.json.encode(orders).decode()
    command = [sys.executable, "-m", "tests.faults.flood.attacker", text]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def _hostile_server() -> Iterator[int]:
    command = [sys.executable, "-m", "tests.faults.flood.hostile_server"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["port"]
    finally:
        process.kill()
        process.communicate()


def _pin(pid: int, cpu: int) -> None:
    """Keep a process, with the threads that it starts from now on, on one core."""
    if hasattr(os, "sched_setaffinity") and (os.cpu_count() or 1) > cpu:
        tasks = [int(task.name) for task in Path(f"/proc/{pid or os.getpid()}/task").iterdir()]
        for task in tasks:
            os.sched_setaffinity(task, {cpu})


def _children(pid: int) -> list[int]:
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    found = [int(child) for child in text.split()]
    return found + [grandchild for child in found for grandchild in _children(child)]


def _rss_bytes(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def _open_bytes(pid: int, scratch: Path) -> int:
    """Return the size of the files that a process has open in a folder, deleted ones included."""
    total = 0
    try:
        for link in Path(f"/proc/{pid}/fd").iterdir():
            if os.readlink(link).startswith(str(scratch)):
                total += link.stat().st_size
    except OSError:
        pass  # it was closed meanwhile
    return total
