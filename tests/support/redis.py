"""A Redis server of a test's own, behind a socket in its own folder, or a port with TLS."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import redis

from tests.support.require import require_binary
from tests.support.waiting import wait_until


class RedisServer:
    """Started, stopped, paused and asked by a test."""

    def __init__(self, program: str, folder: Path, options: Sequence[str] = ()) -> None:
        self._program = program
        self._folder = folder
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        self.socket = folder / "redis.sock"
        self.url = f"unix://{self.socket}"
        self.client = redis.Redis(unix_socket_path=str(self.socket), socket_timeout=10)

    def start(self) -> None:
        self._process = subprocess.Popen(
            [
                *(self._program, "--port", "0", "--unixsocket", str(self.socket)),
                *("--save", "", "--appendonly", "no", "--dir", str(self._folder)),
                *self._options,
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_until(self._answers, what="a Redis server")

    def stop(self) -> None:
        self.resume()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        self.client.close()

    def pause(self) -> None:
        """It takes connections, and answers nothing."""
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGSTOP)

    def resume(self) -> None:
        if self._process is not None:
            os.kill(self._process.pid, signal.SIGCONT)

    def _answers(self) -> bool:
        with suppress(redis.exceptions.RedisError, OSError):
            return bool(self.client.ping())
        return False


@contextmanager
def running_redis(*options: str) -> Iterator[RedisServer]:
    """Start a server, with these options beside ours. Skips without one."""
    program = require_binary("redis-server", package="redis-server")
    folder = Path(tempfile.mkdtemp(prefix="tollhouse-redis-", dir="/tmp"))  # sockets: short names
    server = RedisServer(program, folder, options)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
