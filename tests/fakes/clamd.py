"""A scanner that speaks clamd's INSTREAM as clamd does: in chunks, each behind its length, up to a
length for all of them, with one verdict at the end."""

from __future__ import annotations

import socketserver
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

EICAR = rb"X5O!P%@AP[4\PZX54(P^)7CC)7}$EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"
COMMAND = b"zINSTREAM\0"


class FakeClamd:
    """scanned: what it was sent, whole, in the order of its verdicts."""

    def __init__(self, max_bytes: int) -> None:
        self.scanned: list[bytes] = []
        self.max_bytes = max_bytes
        clamd = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                with suppress(ConnectionError, struct.error):  # the upload was given up
                    self.wfile.write(clamd.answer(self.rfile.read) + b"\0")

        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True

    @property
    def url(self) -> str:
        host, port = self.server.server_address[:2]
        return f"tcp://{host!s}:{port}"

    def answer(self, read: object) -> bytes:
        assert callable(read)
        if read(len(COMMAND)) != COMMAND:
            return b"UNKNOWN COMMAND"
        content = bytearray()
        while size := struct.unpack("!I", read(4))[0]:
            if len(content) + size > self.max_bytes:
                return b"INSTREAM size limit exceeded. ERROR"
            content += read(size)
        self.scanned.append(bytes(content))
        return b"stream: Eicar-Test-Signature FOUND" if EICAR in content else b"stream: OK"


@contextmanager
def running_clamd(max_bytes: int = 1024 * 1024) -> Iterator[FakeClamd]:
    clamd = FakeClamd(max_bytes)
    thread = threading.Thread(target=clamd.server.serve_forever, daemon=True)
    thread.start()
    try:
        yield clamd
    finally:
        clamd.server.shutdown()
        clamd.server.server_close()
        thread.join()
