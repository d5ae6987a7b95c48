"""The scanner of uploads: ClamAV's clamd, or whatever else speaks its INSTREAM command.

It reads a file while the file is written, and says at the end what it found. A file that it
rejects is not kept, and none is kept without its verdict.
"""

from __future__ import annotations

import logging
import re
import socket
import struct
from contextlib import suppress

from django.conf import settings

from gateway.core.errors import PayloadTooLarge, StorageUnavailable
from gateway.core.file_errors import FileRejected
from gateway.core.scanner_address import ScannerAddress

log = logging.getLogger(__name__)

AWAY = "The virus scanner is not available right now."
COMMAND = b"zINSTREAM\0"
# clamd waits so long for more (CommandReadTimeout is 30 s), and we for its verdict.
CONNECT_S, WRITE_S, VERDICT_S = 3.0, 30.0, 120.0
MAX_CHUNK_BYTES = 256 * 1024
MAX_REPLY_BYTES = 4096
_LENGTH = struct.Struct("!I")
_VERDICT = re.compile(r"(?:stream|instream\(.*\)): (?:(?P<clean>OK)|(?P<found>.+) FOUND)")
_TOO_LONG = "size limit exceeded"


class Scan:
    """The scan of one file. For one thread at a time. Methods raise StorageUnavailable."""

    def __init__(self, address: ScannerAddress) -> None:
        self._address = address
        self._socket: socket.socket | None = None
        # What it said before the file had ended.
        self._reply: str | None = None

    def feed(self, piece: bytes) -> None:
        """Raises FileRejected and PayloadTooLarge as soon as the scanner says so."""
        view = memoryview(piece)
        for start in range(0, len(view), MAX_CHUNK_BYTES):
            chunk = view[start : start + MAX_CHUNK_BYTES]
            self._send(_LENGTH.pack(len(chunk)) + chunk)

    def finish(self) -> None:
        """Return if the scanner found nothing. Raises FileRejected, PayloadTooLarge."""
        self._send(_LENGTH.pack(0))
        self._judge(self._read_reply())

    def close(self) -> None:
        if self._socket is not None:
            with suppress(OSError):
                self._socket.close()
            self._socket = None

    def _send(self, data: bytes) -> None:
        try:
            link = self._connect()
            link.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            # It has said why, and takes no more.
            self._judge(self._read_reply())
            raise self._away("it hung up") from None
        except OSError as error:
            raise self._away(repr(error)) from error

    def _connect(self) -> socket.socket:
        if self._socket is None:
            address = self._address
            if address.path:
                self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                self._socket.settimeout(CONNECT_S)
                self._socket.connect(address.path)
            else:
                place = (address.host, address.port)
                self._socket = socket.create_connection(place, CONNECT_S)
            self._socket.settimeout(WRITE_S)
            self._socket.sendall(COMMAND)
        return self._socket

    def _read_reply(self) -> str:
        reply = bytearray()
        try:
            link = self._connect()
            link.settimeout(VERDICT_S)
            while b"\0" not in reply and len(reply) < MAX_REPLY_BYTES:
                piece = link.recv(MAX_REPLY_BYTES)
                if not piece:
                    break
                reply += piece
        except OSError as error:
            raise self._away(repr(error)) from error
        return bytes(reply).partition(b"\0")[0].decode("utf-8", "replace").strip()

    def _judge(self, reply: str) -> None:
        match = _VERDICT.fullmatch(reply)
        if match is not None and match["clean"]:
            return
        if match is not None:
            name = "".join(char for char in match["found"] if char.isprintable())[:100]
            log.warning("The virus scanner rejected an upload: %s", name)
            raise FileRejected(f"The virus scanner rejected the file: {name}.", param="file")
        if _TOO_LONG in reply:
            raise PayloadTooLarge(
                "The file is larger than the virus scanner accepts.", param="file"
            )
        raise self._away(f"its reply: {reply[:200]!r}")

    def _away(self, reason: str) -> StorageUnavailable:
        detail = f"the virus scanner at {self._address}: {reason}"
        return StorageUnavailable(AWAY, detail=detail, retry_after_s=5)


def open_scan() -> Scan | None:
    """Return a scan for a file; None where the installation has no scanner."""
    return None if settings.FILE_SCANNER is None else Scan(settings.FILE_SCANNER)
