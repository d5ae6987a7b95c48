"""The real servers that tests talk to: the gateway and the fake upstream, each its own process.

Every gateway gets a home (TOLLHOUSE_HOME) of its own, copied from a template that was
migrated and seeded once: a workspace with 10 USD, an operator, a key, a simulated model.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.ports import free_port
from tests.support.storage import storage_environment
from tests.support.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
START_S = 120
STOP_S = 90
# In the environment of a gateway: how many descriptors it may have, fewer of them to begin with.
DESCRIPTORS = "TEST_DESCRIPTORS"
LIMITED = 'ulimit -S -n 64; ulimit -H -n "$0"; exec "$@"'


def environment(
    home: Path, extra: Mapping[str, str] | None = None, *, root: Path = ROOT
) -> dict[str, str]:
    """Return the environment of a child that shall use `home` and the product's own settings.

    root: where the product is, for tests that run another version of it.
    """
    own = ("TOLLHOUSE_", "AWS_", "OTEL_", "DATABASE_URL", "REDIS_URL")
    names = [n for n in os.environ if n.startswith(own) or n.endswith("_API_KEY")]
    env = {name: value for name, value in os.environ.items() if name not in names}
    env |= {
        "DJANGO_SETTINGS_MODULE": "gateway.settings",
        "TOLLHOUSE_HOME": str(home),
        "PYTHONPATH": str(root),
        "PYTHONUNBUFFERED": "1",
        # Every test calls from the same address, and many mean to be refused.
        "TOLLHOUSE_WRONG_KEYS": "1000000",
        "TOLLHOUSE_REFUSALS_PER_S": "0",
        "TOLLHOUSE_SHED_LAG_MS": "0",
        # The machine that tests run on may have a full disk, which is no reason to fail them.
        "TOLLHOUSE_MIN_FREE_MB": "0",
        "TOLLHOUSE_MIN_FREE_PERCENT": "0",
    }
    return env | storage_environment(home) | dict(extra or {})


def run_manage(
    home: Path,
    *arguments: str,
    env: Mapping[str, str] | None = None,
    stdin: str | None = None,
    root: Path = ROOT,
) -> subprocess.CompletedProcess[str]:
    """Run `manage.py ARGUMENTS` against a home and return what it printed, whatever its exit."""
    return subprocess.run(
        [sys.executable, str(root / "manage.py"), *arguments],
        env=environment(home, env, root=root),
        cwd=root,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def manage_json(
    home: Path, *arguments: str, stdin: str | None = None, root: Path = ROOT
) -> dict[str, Any]:
    """Run a command with --json and return its object. Raises AssertionError when it fails."""
    done = run_manage(home, *arguments, "--json", stdin=stdin, root=root)
    assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@dataclass
class GatewayServer:
    """A running gateway. base_url ends in /v1; `log` holds what it wrote."""

    home: Path
    port: int
    log: Path
    key: str
    model: str
    email: str
    password: str
    env: dict[str, str] = field(default_factory=dict, repr=False)
    root: Path = ROOT
    process: subprocess.Popen[bytes] = field(init=False, repr=False)
    _added: dict[tuple[str | None, ...], dict[str, Any]] = field(
        default_factory=dict, init=False, repr=False
    )

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def base_url(self) -> str:
        return f"{self.origin}/v1"

    def manage(self, *arguments: str, stdin: str | None = None) -> dict[str, Any]:
        """Run a management command with --json against this gateway's home.

        A model that it added is offered when this returns. Other changes are obeyed a moment
        later: wait for what they come to. What adds a provider or a model is run once: the same
        again is answered as the first was, because a fixture may be made twice.
        """
        told = (*arguments, stdin)
        if told in self._added:
            return self._added[told]
        answer = manage_json(self.home, *arguments, stdin=stdin, root=self.root)
        if arguments[0] == "add_model":
            self.wait_for_model(answer["name"])
        if arguments[0] in ("add_provider", "add_model"):
            self._added[told] = answer
        return answer

    def offered(self) -> list[str]:
        """Return the names of the models that calls can name right now."""
        with urllib.request.urlopen(_models_request(self), timeout=60) as answer:
            return [model["id"] for model in json.load(answer)["data"]]

    def chat(self, content: str = "Hello", **fields: object) -> dict[str, Any]:
        """Make a buffered call to the simulated model and return the answer."""
        messages = [{"role": "user", "content": content}]
        body = {"model": self.model, "messages": messages} | fields
        request = urllib.request.Request(
            f"{self.base_url}/chat/completions",
            data=json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {self.key}",
                "Content-Type": "application/json",
            },
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            made: dict[str, Any] = json.load(answer)
        return made

    def wait_for_model(self, name: str) -> None:
        """Return once calls can name the model, and obey all that was changed before it."""
        wait_until(lambda: name in self.offered(), what=f"{name} to be offered")

    def kill(self) -> None:
        """SIGKILL: nothing is flushed, nothing is said."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """SIGTERM, then wait for the end. Returns the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(STOP_S)

    def restart(self) -> None:
        """Start the home on its port, also again after kill() or stop()."""
        self.process = _spawn_gateway(self)
        _wait_for_gateway(self)


def prepare_home(home: Path, *, root: Path = ROOT, env: Mapping[str, str] | None = None) -> None:
    """Migrate and seed a home, as `make up` does, without starting servers."""
    done = run_manage(home, "prepare", "--json", root=root, env=env)
    assert done.returncode == 0, done.stdout + done.stderr


def start_gateway(
    home: Path,
    *,
    port: int | None = None,
    env: Mapping[str, str] | None = None,
    root: Path = ROOT,
) -> GatewayServer:
    """Start one server process on a prepared home and wait until it answers."""
    seeded = json.loads((home / "quickstart.json").read_text())
    server = GatewayServer(
        home=home,
        port=port or free_port(),
        log=home / "server.log",
        key=seeded["api_key"],
        model=seeded["model"],
        email=seeded["email"],
        password=seeded["password"],
        env=dict(env or {}),
        root=root,
    )
    server.restart()
    return server


@contextmanager
def running_gateway(home: Path, **options: Any) -> Iterator[GatewayServer]:
    """start_gateway, stopped at the end of the block however it ends."""
    server = start_gateway(home, **options)
    try:
        yield server
    finally:
        _end(server.process)


@dataclass
class UpstreamServer:
    """A running fake upstream. Its base_url is what a provider row needs."""

    port: int
    process: subprocess.Popen[bytes]

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def base_url(self) -> str:
        return f"{self.origin}/v1"

    def book(self) -> list[dict[str, Any]]:
        """Return what the upstream says it has done, one object per call."""
        with urllib.request.urlopen(f"{self.origin}/book", timeout=60) as answer:
            calls: list[dict[str, Any]] = json.load(answer)["calls"]
        return calls

    def open_gate(self, name: str) -> None:
        """Let calls go on whose script has this gate."""
        request = urllib.request.Request(f"{self.origin}/gates/{name}", method="POST")
        urllib.request.urlopen(request, timeout=60).close()

    def clear(self) -> None:
        request = urllib.request.Request(f"{self.origin}/book", method="DELETE")
        urllib.request.urlopen(request, timeout=60).close()


@contextmanager
def running_upstream() -> Iterator[UpstreamServer]:
    """Start the fake upstream on a free port; ended with the block."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.fakes.upstream", "--port", "0"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        yield UpstreamServer(json.loads(process.stdout.readline())["port"], process)
    finally:
        _end(process)
        if process.stdout is not None:
            process.stdout.close()


def _spawn_gateway(server: GatewayServer) -> subprocess.Popen[bytes]:
    command = _server_command(server)
    if most := server.env.get(DESCRIPTORS):
        command = ["/bin/sh", "-c", LIMITED, most, *command]
    with server.log.open("ab") as output:
        return subprocess.Popen(
            command,
            cwd=server.root,
            env=environment(server.home, server.env, root=server.root),
            stdout=output,
            stderr=output,
        )


def _server_command(server: GatewayServer) -> list[str]:
    """Return how the version at server.root starts one server process."""
    if server.root == ROOT:
        from gateway.launch.programs import server_command

        return server_command(host="127.0.0.1", port=server.port)
    program = (
        "import json; from gateway.launch.programs import server_command;"
        f"print(json.dumps(server_command(host='127.0.0.1', port={server.port})))"
    )
    env = environment(server.home, root=server.root)
    printed = subprocess.check_output([sys.executable, "-c", program], cwd=server.root, env=env)
    command: list[str] = json.loads(printed)
    return command


def _models_request(server: GatewayServer) -> urllib.request.Request:
    headers = {"Authorization": f"Bearer {server.key}"}
    return urllib.request.Request(f"{server.base_url}/models", headers=headers)


def _wait_for_gateway(server: GatewayServer) -> None:
    deadline = time.monotonic() + START_S
    while True:
        try:
            urllib.request.urlopen(_models_request(server), timeout=5).close()
            return
        except (urllib.error.URLError, ConnectionError, TimeoutError) as error:
            ended = server.process.poll()
            if ended is not None or time.monotonic() > deadline:
                _end(server.process)
                raise AssertionError(
                    f"the gateway did not start (exit {ended}, {error}):\n{server.log.read_text()}"
                ) from None
        time.sleep(0.05)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a child for certain: politely, then not."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
