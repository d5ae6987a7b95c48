"""Encryption at rest of stored files, piece by piece: neither side has a file whole in memory.

A file is: mark (4 bytes) | salt (32), then chunks of 64 KiB of plain text, the last one shorter or
empty, each AES-256-GCM ciphertext and tag (16). The key of a file is derived from the data key of
its workspace and its salt. A chunk's nonce is its number and whether it is the last: chunks that
were moved, cut off or added cannot be decrypted. What is authenticated with them is the file's ID,
so that the bytes of one file cannot stand for another.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from types import TracebackType
from typing import Protocol, Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

MARK = b"THF1"
SALT_BYTES = 32
HEAD_BYTES = len(MARK) + SALT_BYTES
CHUNK_BYTES = 64 * 1024
TAG_BYTES = 16
SEALED_BYTES = CHUNK_BYTES + TAG_BYTES
MAX_LINE_BYTES = 8 * 1024 * 1024


class Damaged(Exception):
    """The stored bytes are not what was written, or are not all of it."""


class Sink(Protocol):
    """Where encrypted bytes go (gateway.file_storage.stores)."""

    def write(self, data: bytes) -> None: ...


class Source(Protocol):
    """Where encrypted bytes come from."""

    def read_at(self, offset: int, size: int) -> bytes:
        """Return so many bytes from there on, fewer only at the end."""

    def close(self) -> None: ...


class EncryptingWriter:
    """Encrypts what it is given into a sink. The file is whole once `finish` has returned."""

    def __init__(self, sink: Sink, data_key: bytes, file_id: bytes) -> None:
        salt = os.urandom(SALT_BYTES)
        self._sink = sink
        self._cipher = _cipher(data_key, salt)
        self._file_id = file_id
        self._rest = bytearray()
        self._number = 0
        sink.write(MARK + salt)

    def write(self, data: bytes) -> None:
        self._rest += data
        whole = (len(self._rest) - 1) // CHUNK_BYTES if self._rest else 0
        if not whole:
            return
        view = memoryview(self._rest)
        sealed = [
            self._seal(view[start : start + CHUNK_BYTES], is_last=False)
            for start in range(0, whole * CHUNK_BYTES, CHUNK_BYTES)
        ]
        view.release()
        del self._rest[: whole * CHUNK_BYTES]
        self._sink.write(b"".join(sealed))

    def finish(self) -> None:
        self._sink.write(self._seal(bytes(self._rest), is_last=True))
        self._rest.clear()

    def _seal(self, chunk: bytes | memoryview, *, is_last: bool) -> bytes:
        nonce = _nonce(self._number, is_last=is_last)
        self._number += 1
        return self._cipher.encrypt(nonce, chunk, self._file_id)


class DecryptingReader:
    """Reads the plain text of a file, from its beginning or from anywhere.

    size_bytes: of the plain text, as the row says.
    """

    def __init__(self, source: Source, data_key: bytes, file_id: bytes, size_bytes: int) -> None:
        self.size_bytes = size_bytes
        self._source = source
        self._file_id = file_id
        self._position = 0
        self._chunk_number, self._chunk = -1, b""
        # An empty chunk is written for an empty file alone.
        self._last = max(size_bytes - 1, 0) // CHUNK_BYTES
        head = source.read_at(0, HEAD_BYTES)
        if len(head) != HEAD_BYTES or head[: len(MARK)] != MARK:
            raise Damaged("It has no head.")
        self._cipher = _cipher(data_key, head[len(MARK) :])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._source.close()

    def seek(self, offset: int) -> None:
        """Go on reading at this byte of the plain text."""
        self._position = min(max(offset, 0), self.size_bytes)

    def read(self, size: int) -> bytes:
        """Return so many bytes, fewer only at the end. Raises Damaged."""
        pieces: list[bytes] = []
        while size > 0 and self._position < self.size_bytes:
            number, start = divmod(self._position, CHUNK_BYTES)
            piece = self._open(number)[start : start + size]
            if not piece:
                raise Damaged("It is shorter than its row says.")
            pieces.append(piece)
            self._position += len(piece)
            size -= len(piece)
        return b"".join(pieces)

    def pieces(self) -> Iterator[bytes]:
        """Yield the rest of the file. Raises Damaged."""
        while piece := self.read(CHUNK_BYTES - self._position % CHUNK_BYTES):
            yield piece

    def lines(self) -> Iterator[bytes]:
        """Yield the lines of the rest without their ends. Raises Damaged, also for a line that is
        longer than any that is taken."""
        rest = bytearray()
        for piece in self.pieces():
            rest += piece
            if b"\n" in piece:
                *whole, last = rest.split(b"\n")
                yield from map(bytes, whole)
                rest = last
            if len(rest) > MAX_LINE_BYTES:
                raise Damaged("A line is too long.")
        if rest:
            yield bytes(rest)

    def _open(self, number: int) -> bytes:
        if number != self._chunk_number:
            sealed = self._source.read_at(HEAD_BYTES + number * SEALED_BYTES, SEALED_BYTES)
            nonce = _nonce(number, is_last=number == self._last)
            try:
                self._chunk = self._cipher.decrypt(nonce, sealed, self._file_id)
            except (InvalidTag, ValueError):
                raise Damaged(f"Its chunk {number} cannot be decrypted.") from None
            self._chunk_number = number
        return self._chunk


def stored_bytes(size_bytes: int) -> int:
    """Return how many bytes a file takes that has so many of plain text."""
    chunks = max(size_bytes - 1, 0) // CHUNK_BYTES + 1
    return HEAD_BYTES + size_bytes + chunks * TAG_BYTES


def _cipher(data_key: bytes, salt: bytes) -> AESGCM:
    derived = HKDF(SHA256(), length=32, salt=salt, info=b"tollhouse file 1").derive(data_key)
    return AESGCM(derived)


def _nonce(number: int, *, is_last: bool) -> bytes:
    return number.to_bytes(11, "big") + (b"\x01" if is_last else b"\x00")
