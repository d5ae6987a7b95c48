"""What has to be whole before it can be used, and is too long for memory: a temporary file.

It is encrypted with a key that is in memory alone. Nobody can read it on the disk, neither while it
is there nor afterwards.
"""

from __future__ import annotations

import io
import os
import tempfile
from contextlib import suppress
from typing import BinaryIO, cast

from gateway.file_storage.encryption import CHUNK_BYTES, DecryptingReader, EncryptingWriter

KEY_BYTES = 32
NAME = b"temporary"


class TemporaryBytes:
    """Bytes that are written once and then read: a few in memory, more in a file.

    For one thread at a time. To be closed, unless `open` has returned.
    """

    def __init__(self, memory_bytes: int) -> None:
        self._memory_bytes = memory_bytes
        self._memory = io.BytesIO()
        self._size_bytes = 0
        self._file: _File | None = None

    def write(self, data: bytes) -> None:
        self._size_bytes += len(data)
        if self._file is None and self._size_bytes > self._memory_bytes:
            self._file = _File()
            self._file.encrypting.write(self._memory.getvalue())
            self._memory.close()
        if self._file is None:
            self._memory.write(data)
        else:
            self._file.encrypting.write(data)

    def open(self) -> BinaryIO:
        """Return a file of what was written. It is gone when that is closed."""
        if self._file is None:
            self._memory.seek(0)
            return self._memory
        plain = _PlainText(self._file.finish(self._size_bytes))
        return cast(BinaryIO, io.BufferedReader(plain, CHUNK_BYTES))

    def close(self) -> None:
        self._memory.close()
        if self._file is not None:
            self._file.close()


class _File:
    """Both ends of an encrypted file that has no name."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - `close` closes it
        self._key = os.urandom(KEY_BYTES)
        self.encrypting = EncryptingWriter(self, self._key, NAME)

    def finish(self, size_bytes: int) -> DecryptingReader:
        self.encrypting.finish()
        return DecryptingReader(self, self._key, NAME, size_bytes)

    def write(self, data: bytes) -> None:
        self._file.write(data)

    def read_at(self, offset: int, size: int) -> bytes:
        self._file.seek(offset)
        return self._file.read(size)

    def close(self) -> None:
        with suppress(OSError):  # what is not written yet does not fit
            self._file.close()


class _PlainText(io.RawIOBase):
    """What a reader decrypts, as a file of Python."""

    def __init__(self, reader: DecryptingReader) -> None:
        self._reader = reader
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        bases = {
            os.SEEK_SET: 0,
            os.SEEK_CUR: self._position,
            os.SEEK_END: self._reader.size_bytes,
        }
        self._position = max(bases[whence] + offset, 0)
        self._reader.seek(self._position)
        return self._position

    def tell(self) -> int:
        return self._position

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._reader.read(len(buffer))
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._reader.close()
        super().close()
