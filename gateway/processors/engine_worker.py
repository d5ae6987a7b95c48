"""The process in which an engine runs: `python -m gateway.processors.engine_worker MODULE`.

Standard input is a socket to who started it (gateway.core.child_process). The first frame that it
sends is empty: the engine is ready. Then it gets one Request after the other and answers each with
a Response; it ends with the socket. Whatever takes too long is ended from outside.
"""

from __future__ import annotations

import importlib
import os
import resource
import socket
import sys
from collections.abc import Callable

import msgspec

from gateway.core.child_process import LENGTH_BYTES, write_frame

# With the program; see the engine's own MEMORY_BYTES.
MEMORY_BYTES = 1024**3
Handle = Callable[[dict[str, object]], dict[str, object]]


class Response(msgspec.Struct, array_like=True):
    """What an engine returned; or the type of what it raised, never its text."""

    result: dict[str, object] = {}
    failure: str = ""


def answer(handle: Handle, frame: bytes) -> Response:
    """Return what the engine makes of a request."""
    try:
        return Response(handle(msgspec.msgpack.decode(frame, type=dict[str, object])))
    except Exception as error:
        return Response(failure=type(error).__name__)


def read_exactly(link: socket.socket, count: int) -> bytes:
    """Return so many bytes; fewer at the end."""
    pieces = bytearray()
    while len(pieces) < count and (piece := link.recv(min(count - len(pieces), 2**20))):
        pieces += piece
    return bytes(pieces)


def confine(memory_bytes: int) -> None:
    """Give up what an engine does not need: much memory, files that it writes, core dumps."""
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main(name: str) -> None:
    link = socket.socket(fileno=0)
    engine = importlib.import_module(name)
    confine(getattr(engine, "MEMORY_BYTES", MEMORY_BYTES))
    link.sendall(write_frame(b""))
    while len(head := read_exactly(link, LENGTH_BYTES)) == LENGTH_BYTES:
        length = int.from_bytes(head, "big")
        frame = read_exactly(link, length)
        if len(frame) < length:
            return
        link.sendall(write_frame(answer(engine.handle, frame)))


if __name__ == "__main__":
    main(*sys.argv[1:])
    os._exit(0)  # an engine's threads are not waited for
