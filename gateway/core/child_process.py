"""Child processes that do work for a server process, and the frames between the two.

Each has a socket to who started it as its standard input. Both ways go frames: four bytes of
length, then MessagePack.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

ROOT = Path(__file__).resolve().parents[2]
# All that a child learns of where it runs: certificates, and where Python keeps what it has
# compiled.
PASSED_ON = ("SSL_CERT_FILE", "SSL_CERT_DIR", "PYTHONPYCACHEPREFIX", "PYTHONDONTWRITEBYTECODE")
LENGTH_BYTES = 4
# Of children whose work is not what most calls wait for.
NICENESS = 10


def write_frame(message: object) -> bytes:
    """Return the message as a frame."""
    encoded = msgspec.msgpack.encode(message)
    return len(encoded).to_bytes(LENGTH_BYTES, "big") + encoded


async def read_frame(reader: asyncio.StreamReader) -> bytes:
    """Return what is in the next frame. Raises IncompleteReadError, an EOFError, at the end."""
    length = int.from_bytes(await reader.readexactly(LENGTH_BYTES), "big")
    return await reader.readexactly(length)


def start_child(
    module: str, arguments: Sequence[str] = (), *, niceness: int = NICENESS
) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """Start `python -m module` and return it with our end of the socket between us.

    It inherits nothing of the environment but PASSED_ON. niceness: what is added to the priority of
    who carries calls. Starting takes a moment in which this process may stand still: call it in a
    thread, and seldom. Raises OSError.
    """
    ours, its = socket.socketpair()
    environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    try:
        process = subprocess.Popen(  # noqa: S603 (the command is ours)
            [sys.executable, "-m", module, *arguments],
            stdin=its.fileno(),
            stdout=subprocess.DEVNULL,
            env=environment | {"PYTHONPATH": str(ROOT)},
            cwd=ROOT,
        )
    except OSError:
        with suppress(OSError):
            ours.close()
        raise
    finally:
        its.close()
    # At once: a child that does it itself has started by then, which takes some tenths of a second.
    with suppress(OSError):  # it has ended
        os.setpriority(os.PRIO_PROCESS, process.pid, niceness)
    return process, ours
