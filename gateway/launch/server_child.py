"""A server process as a child of `up`: it shares a listening socket with others, says when it
serves, and can be replaced by another without a request being refused."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Mapping, Sequence

from gateway.launch.child import Child
from gateway.launch.programs import REPLACES

# What the server process finds in its environment: descriptors.
LISTENER_FD = "TOLLHOUSE_LISTENER_FD"
READY_FD = "TOLLHOUSE_READY_FD"
# Asks it to take no more connections, serve those that it has to their end, and stop.
RETIRE = signal.SIGUSR1


class ServerChild(Child):
    """One server process. listener: the socket that it takes connections from."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        environ: Mapping[str, str],
        listener: socket.socket,
    ) -> None:
        super().__init__(name, command, environ=environ)
        self._listener = listener
        self._ready_fd = -1

    def start(self) -> None:
        self._forget_ready()
        self._ready_fd, told_fd = os.pipe()
        os.set_blocking(self._ready_fd, False)
        listener_fd = self._listener.fileno()
        environ = {LISTENER_FD: str(listener_fd), READY_FD: str(told_fd)}
        try:
            self._spawn(environ, (listener_fd, told_fd))
        finally:
            os.close(told_fd)

    def is_ready(self) -> bool:
        """True once the process has said that it takes connections."""
        if self._ready_fd < 0:
            return True
        try:
            said = os.read(self._ready_fd, 1)
        except BlockingIOError:
            return False
        if said:
            self._forget_ready()
        return bool(said)

    def successor(self) -> ServerChild:
        """Return another child of the same sort, not started."""
        environ = {**self._environ, REPLACES: "1"}
        return ServerChild(self.name, self._command, environ=environ, listener=self._listener)

    def retire(self) -> None:
        """Ask it to end once nobody needs it any more."""
        self._send(RETIRE)

    def kill(self) -> None:
        super().kill()
        self._forget_ready()

    def _forget_ready(self) -> None:
        if self._ready_fd >= 0:
            os.close(self._ready_fd)
            self._ready_fd = -1
