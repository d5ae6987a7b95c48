"""The command lines of the programs that make up a running installation."""

from __future__ import annotations

import sys

# Connections that wait to be accepted.
BACKLOG = 2048
# The server's exit code when its journal could not be made durable by the time it was stopped.
STORAGE_FAILED = 74
# A server process ends at the latest so long after the time that its calls have to end.
KILL_AFTER_S = 10.0
# In the environment of a server process that serves beside the one that it replaces.
REPLACES = "TOLLHOUSE_REPLACES"


def server_command(*, host: str, port: int) -> list[str]:
    """Return how to start one server process.

    Forwarded headers are ours to judge (gateway.admission knows the trusted proxies), so
    uvicorn is told to leave the peer's address alone.
    """
    return [
        *(sys.executable, "-m", "gateway.launch.server", "gateway.asgi:application"),
        *("--host", host, "--port", str(port)),
        *("--loop", "uvloop", "--http", "gateway.edge.protocol:GuardedHttpProtocol"),
        *("--ws", "none", "--lifespan", "on"),
        *("--no-proxy-headers", "--no-server-header", "--no-access-log"),
        *("--log-level", "warning", "--timeout-keep-alive", "75"),
        *("--backlog", str(BACKLOG)),
    ]


def worker_command() -> list[str]:
    """Return how to start the background worker with its clock inside."""
    return [
        # Celery's warning about root is about pickled messages; ours are JSON from our own folder.
        *(sys.executable, "-W", "ignore:You're running the worker with superuser"),
        *("-m", "gateway.launch.worker"),
    ]
