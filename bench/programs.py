"""Starting, pinning, watching and ending the programs that take part in a measurement."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from gateway.launch.programs import server_command
from tests.support.ports import free_port

ROOT = Path(__file__).resolve().parent.parent
SERVER_CPU = 0
LOAD_CPU = 1
START_S = 30
STOP_S = 10
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class BenchError(Exception):
    """A measurement cannot be made; the message says why."""


@dataclass(frozen=True)
class Program:
    """A running server."""

    name: str
    process: subprocess.Popen[bytes]
    port: int
    log: Path

    def cpu_s(self) -> float:
        """Return the processor time of all its threads so far, in seconds."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS_PER_S

    def rss_bytes(self) -> int:
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * PAGE_BYTES

    def check_alive(self) -> None:
        """Raises BenchError with the end of its log when it has ended."""
        if self.process.poll() is not None:
            tail = self.log.read_text(errors="replace")[-2000:]
            raise BenchError(f"{self.name} ended with {self.process.returncode}:\n{tail}")


def pin(cpu: int | None) -> None:
    """Keep this process on one core, where the system can and there is more than one. None: let it
    use all."""
    cores = os.cpu_count() or 1
    if hasattr(os, "sched_setaffinity") and cores > (cpu or 0):
        os.sched_setaffinity(0, range(cores) if cpu is None else {cpu})


def environment(home: Path, checkout: Path, extra: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a child: ours, but with `home` and no settings of this machine."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("TOLLHOUSE_")}
    return kept | {"TOLLHOUSE_HOME": str(home), "PYTHONPATH": str(checkout)} | dict(extra)


class Programs:
    """Starts programs that share a scratch folder, and ends them all with the block."""

    def __init__(
        self, folder: Path, checkout: Path = ROOT, env: Mapping[str, str] | None = None
    ) -> None:
        """checkout: the version to start, with its own `.venv` where it has one. env: what all of
        them are told."""
        folder.mkdir(exist_ok=True)
        self.home = folder / "home"
        self._folder = folder
        self._checkout = checkout
        self._env = dict(env or {})
        python = checkout / ".venv" / "bin" / "python"
        self._python = str(python) if checkout != ROOT and python.exists() else sys.executable
        self._stack = ExitStack()

    def __enter__(self) -> Programs:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def start_upstream(self, cpu: int | None = LOAD_CPU) -> Program:
        port = free_port()
        command = [sys.executable, "-m", "tests.fakes.upstream", "--port", str(port)]
        return self._start("upstream", [*command, "--book-limit", "2000"], port, cpu)

    def start_gateway(self, name: str = "gateway", cpu: int | None = SERVER_CPU) -> Program:
        """cpu: None: any."""
        port = free_port()
        return self._start(name, self._server_command(port), port, cpu)

    def start_relay(self, upstream: Program) -> Program:
        """Start the bare relay under the gateway's own server options."""
        port = free_port()
        command = server_command(host="127.0.0.1", port=port)
        command[command.index("gateway.asgi:application")] = "bench.relay:make_relay"
        url = f"http://127.0.0.1:{upstream.port}/v1/chat/completions"
        extra = {"BENCH_UPSTREAM_URL": url}
        return self._start("relay", [*command, "--factory"], port, SERVER_CPU, extra)

    def _server_command(self, port: int) -> list[str]:
        """Return how the checkout itself starts its server: another version may do it otherwise."""
        script = (
            "import json, sys; from gateway.launch.programs import server_command;"
            "print(json.dumps(server_command(host='127.0.0.1', port=int(sys.argv[1]))))"
        )
        command: list[str] = json.loads(self._run("-c", script, str(port)))
        return command

    def _start(
        self,
        name: str,
        command: list[str],
        port: int,
        cpu: int | None,
        extra: Mapping[str, str] | None = None,
    ) -> Program:
        log = self._folder / f"{name}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                command,
                cwd=self._checkout,
                env=environment(self.home, self._checkout, self._env | dict(extra or {})),
                stdout=output,
                stderr=output,
                preexec_fn=lambda: pin(cpu),
            )
        self._stack.callback(_end, process)
        program = Program(name, process, port, log)
        _wait_until_listening(program)
        return program

    def manage(self, *arguments: str, env: Mapping[str, str] | None = None) -> dict[str, str]:
        """Run a management command with --json and return its object. Raises BenchError."""
        printed = self._run("manage.py", *arguments, "--json", env=env)
        answer: dict[str, str] = json.loads(printed)
        return answer

    def migrate(self) -> None:
        """Make the database. Raises BenchError."""
        self._run("manage.py", "migrate", "--verbosity", "0")

    def _run(self, *arguments: str, env: Mapping[str, str] | None = None) -> str:
        done = subprocess.run(
            [self._python, *arguments],
            cwd=self._checkout,
            env=environment(self.home, self._checkout, self._env | dict(env or {})),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            tail = (done.stdout + done.stderr)[-2000:]
            raise BenchError(f"{' '.join(arguments[:2])} failed:\n{tail}")
        return done.stdout


def _wait_until_listening(program: Program) -> None:
    deadline = time.monotonic() + START_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", program.port), timeout=1).close()
            return
        except OSError:
            program.check_alive()
            if time.monotonic() > deadline:
                raise BenchError(f"{program.name} did not listen within {START_S} s.") from None
        time.sleep(0.05)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def is_serving(program: Program, key: str) -> bool:
    """True when the gateway lists models for this key."""
    url = f"http://127.0.0.1:{program.port}/v1/models"
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {key}"})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return bool(answer.status == 200)
    except urllib.error.URLError:
        return False
