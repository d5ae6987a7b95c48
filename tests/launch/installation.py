"""A whole installation under `manage.py up`, as a person at a terminal sees it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.ports import free_port
from tests.support.servers import ROOT, environment
from tests.support.waiting import wait_until

READY_S = 120
STOP_S = 120


@dataclass
class Installation:
    """A running `up`. `output` is the file with everything it printed."""

    home: Path
    port: int
    process: subprocess.Popen[bytes]
    output: Path

    @property
    def said(self) -> str:
        return self.output.read_text()

    @property
    def quickstart(self) -> dict[str, str]:
        members: dict[str, str] = json.loads((self.home / "quickstart.json").read_text())
        return members

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Ask it to stop; return the exit code."""
        self.process.send_signal(number)
        return self.process.wait(STOP_S)

    def ask(self, content: str = "Hello", **members: Any) -> dict[str, Any]:
        """Make a buffered call and return the answer. Raises AssertionError with a refusal."""
        try:
            with self.open_call(content, **members) as answer:
                body: dict[str, Any] = json.load(answer)
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{error.code} {error.read().decode()}\n{self.said}") from None
        return body

    def open_call(self, content: str, **members: Any) -> Any:
        """Begin a call and return the response, its head read."""
        start = self.quickstart
        body = {"model": start["model"], "messages": [{"role": "user", "content": content}]}
        request = urllib.request.Request(
            f"{start['base_url']}/chat/completions",
            data=json.dumps(body | members).encode(),
            headers={
                "Authorization": f"Bearer {start['api_key']}",
                "Content-Type": "application/json",
            },
        )
        return urllib.request.urlopen(request, timeout=120)

    def answers(self) -> bool:
        try:
            return bool(self.ask()["choices"])
        except (OSError, AssertionError):
            return False

    def children(self) -> dict[str, int]:
        """Return the process ids of the children by a word of their command line."""
        pid = self.process.pid
        pids = [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
        words = {"launch.server": "server", "launch.worker": "worker", "local_model": "model"}
        lines = {child: Path(f"/proc/{child}/cmdline").read_text() for child in pids}
        return {
            name: child
            for child, line in lines.items()
            for word, name in words.items()
            if word in line
        }


def up_process(
    home: Path, *arguments: str, port: int, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `up` to its end and return what it said: for starts that are refused."""
    return subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), "up", *arguments],
        cwd=ROOT,
        env=environment(home, {"TOLLHOUSE_PORT": str(port), **(env or {})}),
        capture_output=True,
        text=True,
        timeout=STOP_S,
        check=False,
    )


@contextmanager
def running(
    home: Path, *arguments: str, port: int | None = None, env: Mapping[str, str] | None = None
) -> Iterator[Installation]:
    """`up` that has said that it runs; ended with the block, however that ends."""
    port = port or free_port()
    output = home.parent / f"up-{port}.log"
    with output.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, str(ROOT / "manage.py"), "up", *arguments],
            cwd=ROOT,
            env=environment(home, {"TOLLHOUSE_PORT": str(port), **(env or {})}),
            stdout=file,
            stderr=file,
        )
    installation = Installation(home, port, process, output)
    try:
        wait_until(
            lambda: "is running" in installation.said or process.poll() is not None,
            within_s=READY_S,
            what="up to be ready",
        )
        assert process.poll() is None, installation.said
        yield installation
    finally:
        if process.poll() is None:
            installation.stop()


def assert_refused_with(done: subprocess.CompletedProcess[str], words: str) -> None:
    assert done.returncode == 1
    assert done.stdout == ""
    assert words in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert "Traceback" not in done.stderr


def is_alive(pid: int) -> bool:
    """True while the process exists and is not merely waiting to be counted."""
    try:
        os.kill(pid, 0)
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
