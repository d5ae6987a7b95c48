"""The processes that read PDFs, seen from a server process.

A server process has one process that starts them, gateway.files.pdf_starter, which says why. Both
classes are for threads, as they wait.
"""

from __future__ import annotations

import logging
import socket
import subprocess
import threading
from contextlib import suppress
from pathlib import Path

from gateway.core.child_process import start_child
from gateway.core.errors import Overloaded
from gateway.core.overload import spread_retry_after_s
from gateway.files.pdf_starter import STATUS_BYTES

logger = logging.getLogger(__name__)

STARTER = "gateway.files.pdf_starter"
MAX_ANSWER_BYTES = 64 * 1024 * 1024
PIECE_BYTES = 256 * 1024
# A process that has said everything ends within this.
END_S = 1.0
# And the one that starts them, with those it has started.
STARTER_END_S = 5.0


class StarterProcess:
    """The process that starts readers. It is started with the first of them, and anew when it has
    ended."""

    def __init__(self, worker: Path) -> None:
        self._worker = worker
        self._lock = threading.Lock()
        self._running: tuple[subprocess.Popen[bytes], socket.socket] | None = None

    def start(self, mode: str) -> tuple[socket.socket, socket.socket]:
        """Have a reader started. Return its standard input and output, and its control: what says
        in STATUS_BYTES how it ended, and kills it when it is closed. Raises OSError."""
        document, its_document = socket.socketpair()
        control, its_control = socket.socketpair()
        with its_document, its_control:
            try:
                with self._lock:
                    self._ask(mode, [its_document.fileno(), its_control.fileno()])
            except OSError:
                document.close()
                control.close()
                raise
        return document, control

    def end(self) -> None:
        """End the process, and the readers with it."""
        with self._lock:
            self._stop()

    def _ask(self, mode: str, descriptors: list[int]) -> None:
        if self._running is not None:
            with suppress(OSError):  # it has ended
                socket.send_fds(self._running[1], [mode.encode()], descriptors)
                return
            self._stop()
        self._running = start_child(STARTER, [str(self._worker)])
        socket.send_fds(self._running[1], [mode.encode()], descriptors)

    def _stop(self) -> None:
        if self._running is None:
            return
        process, link = self._running
        self._running = None
        link.close()
        try:
            process.wait(STARTER_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class Conversion:
    """The reading of one document. run() is for a thread; end() may come from another at any time,
    and does not wait."""

    def __init__(self, starter: StarterProcess, mode: str) -> None:
        self._starter = starter
        self._mode = mode
        self._sockets: tuple[socket.socket, ...] = ()
        self._has_ended = False

    def run(self, content: bytes) -> bytes:
        """Return what the process says; nothing when it was killed for what it did. Raises
        Overloaded if no process could be started, or the one that started it was killed."""
        try:
            document, control = self._starter.start(self._mode)
        except OSError as error:
            raise _unavailable(str(error)) from None
        with document, control:
            self._sockets = document, control
            if self._has_ended:
                return b""
            # It may end before it has read all.
            with suppress(OSError):
                document.sendall(content)
                document.shutdown(socket.SHUT_WR)
            answer = _receive(document)
            status = self._receive_status(control)
        if status is None and not answer and not self._has_ended:
            raise _unavailable("its process could not be started")
        if status:
            logger.warning("The reader of a PDF ended with %s.", status)
        return answer if len(answer) <= MAX_ANSWER_BYTES else b""

    def end(self) -> None:
        """Kill the process if it runs, and whatever it may have started."""
        self._has_ended = True
        for one in self._sockets:
            with suppress(OSError):  # it has ended
                one.shutdown(socket.SHUT_RDWR)

    def _receive_status(self, control: socket.socket) -> int | None:
        """Return how the process ended: 0, another exit code, or less for a signal. None if nobody
        says so, or it did not end and is killed."""
        control.settimeout(END_S)
        try:
            told = control.recv(STATUS_BYTES)
        except TimeoutError:
            self.end()
            return None
        except OSError:
            return None
        return int.from_bytes(told, "big", signed=True) if told else None


def _receive(document: socket.socket) -> bytes:
    """Return what comes, up to a byte more than may."""
    answer = bytearray()
    # Reset when it ended before it had read all.
    with suppress(ConnectionResetError):
        while len(answer) <= MAX_ANSWER_BYTES and (piece := document.recv(PIECE_BYTES)):
            answer += piece
    return bytes(answer)


def _unavailable(detail: str) -> Overloaded:
    message = "PDFs cannot be read at the moment. Try again in a moment."
    return Overloaded(message, detail=detail, retry_after_s=spread_retry_after_s())
