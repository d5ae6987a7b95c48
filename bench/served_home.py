"""One server on a home that is there already."""

from __future__ import annotations

import http.client
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.programs import PAGE_BYTES, ROOT, BenchError, environment
from gateway.launch.programs import server_command
from tests.support.ports import free_port

START_S = 60
LOOK_S = 0.01


class Server:
    """start_s: how long it took until it answered."""

    def __init__(self, process: subprocess.Popen[bytes], port: int) -> None:
        self._process = process
        self.port = port
        self.start_s = 0.0

    @property
    def rss_bytes(self) -> int:
        fields = Path(f"/proc/{self._process.pid}/statm").read_text().split()
        return int(fields[1]) * PAGE_BYTES

    def wait_until_ready(self) -> None:
        """Raises BenchError when it does not start."""
        began_s = time.monotonic()
        while self._process.poll() is None and time.monotonic() < began_s + START_S:
            try:
                load(self.port, "/readyz", {})
            except (OSError, BenchError):
                time.sleep(LOOK_S)
            else:
                self.start_s = time.monotonic() - began_s
                return
        raise BenchError("the server did not start")


class ServedHome:
    """A home, brought up to date, and its database: of `url`, or of DATABASE_URL, or its file."""

    def __init__(self, home: Path, url: str = "") -> None:
        extra = {"DATABASE_URL": url} if url else {}
        settings = {"DJANGO_SETTINGS_MODULE": "gateway.settings"}
        self._environ = environment(home, ROOT, extra) | settings
        for command in ("migrate", "collectstatic"):
            arguments = [sys.executable, "manage.py", command, "--no-input", "--verbosity", "0"]
            subprocess.run(arguments, cwd=ROOT, env=self._environ, check=True)

    @contextmanager
    def running(self) -> Iterator[Server]:
        """Serve it on a free port."""
        port = free_port()
        with tempfile.TemporaryFile() as log:
            process = subprocess.Popen(
                server_command(host="127.0.0.1", port=port),
                cwd=ROOT,
                env=self._environ,
                stdout=log,
                stderr=log,
            )
            server = Server(process, port)
            try:
                server.wait_until_ready()
                yield server
            finally:
                process.terminate()
                process.wait()
                log.seek(0)
                sys.stderr.write(log.read().decode()[-2000:])


def load(port: int, path: str, headers: dict[str, str]) -> float:
    """Return how many seconds an address took. Raises BenchError unless it answers 200."""
    began = time.perf_counter()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    if answer.status != 200:
        raise BenchError(f"{path} answered {answer.status}")
    return time.perf_counter() - began
