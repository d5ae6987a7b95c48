"""The server process: `python -m gateway.launch.server`, with the arguments of uvicorn."""

from __future__ import annotations

import asyncio
import os
import socket
from importlib import import_module

from gateway.edge.server import DrainingServer
from gateway.launch.server_child import LISTENER_FD, READY_FD, RETIRE


class Server(DrainingServer):
    """Takes connections from the socket of `up`, where it was started by that."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        if LISTENER_FD in os.environ:
            sockets = [socket.socket(fileno=int(os.environ[LISTENER_FD]))]
        asyncio.get_running_loop().add_signal_handler(RETIRE, self.retire)
        await super().startup(sockets)
        if self.started and READY_FD in os.environ:
            ready_fd = int(os.environ.pop(READY_FD))
            os.write(ready_fd, b"1")
            os.close(ready_fd)


def run() -> None:
    """Serve until SIGTERM or SIGINT. uvicorn has no option for another server, so its command line
    is handed ours. (`uvicorn.main` is the name of a function, too.)"""
    program = import_module("uvicorn.main")
    program.Server = Server  # type: ignore[attr-defined]
    program.main()


if __name__ == "__main__":
    run()
