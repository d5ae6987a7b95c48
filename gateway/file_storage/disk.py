"""Files in a folder: of this host alone, or shared by all hosts of an installation."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings

from gateway.core.errors import StorageUnavailable
from gateway.file_storage.stores import AWAY, MARK_NAME, Missing, StoredName, unavailable

BYTES_PER_MB = 1024 * 1024

# Between two looks at the free space of the disk while a file is written.
LOOK_EVERY_BYTES = 16 * 1024 * 1024
# What is written is handed to the disk in steps, so that the last one does not take long.
SYNC_EVERY_BYTES = 64 * 1024 * 1024


class DiskStore:
    def __init__(self, folder: Path) -> None:
        self.place = str(folder)
        self._folder = folder

    def read_mark(self) -> str:
        try:
            return (self._folder / MARK_NAME).read_text().strip()
        except FileNotFoundError:
            return ""
        except OSError as error:
            raise unavailable(error) from error

    def write_mark(self, mark: str) -> None:
        draft = self._folder / f".{MARK_NAME}.{secrets.token_hex(4)}"
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            draft.write_text(f"{mark}\n")
            with suppress(FileExistsError):
                os.link(draft, self._folder / MARK_NAME)
            draft.unlink()
        except OSError as error:
            raise unavailable(error) from error

    def create(self, name: str) -> DiskWriter:
        path = self._path(name)
        # A file system that is not mounted leaves an empty folder.
        if not (self._folder / MARK_NAME).exists():
            raise StorageUnavailable(AWAY, detail=f"{self.place} is not there", retry_after_s=5)
        try:
            path.parent.mkdir(mode=0o700, exist_ok=True)
            return DiskWriter(path)
        except OSError as error:
            raise unavailable(error) from error

    def open(self, name: str) -> DiskSource:
        try:
            return DiskSource(os.open(self._path(name), os.O_RDONLY | os.O_CLOEXEC))
        except FileNotFoundError:
            raise Missing(name) from None
        except OSError as error:
            raise unavailable(error) from error

    def delete(self, name: str) -> None:
        try:
            self._path(name).unlink(missing_ok=True)
        except OSError as error:
            raise unavailable(error) from error

    def names(self) -> Iterator[StoredName]:
        for path in self._folder.glob("[0-9a-f][0-9a-f]/*"):
            with suppress(FileNotFoundError):
                yield StoredName(path.name, datetime.fromtimestamp(path.stat().st_mtime, UTC))

    def delete_unfinished(self, before: datetime) -> int:
        return 0

    def _path(self, name: str) -> Path:
        return self._folder / name[:2] / name


class DiskWriter:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._written = 0
        self._look_at = 0
        self._sync_at = SYNC_EVERY_BYTES
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        self._descriptor = os.open(path, flags, 0o600)

    def write(self, data: bytes) -> None:
        if self._written >= self._look_at:
            self._look_at = self._written + LOOK_EVERY_BYTES
            if is_short(self._path.parent):
                raise StorageUnavailable(AWAY, detail="too little free space", retry_after_s=60)
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._descriptor, view) :]
            self._written += len(data)
            if self._written >= self._sync_at:
                self._sync_at = self._written + SYNC_EVERY_BYTES
                os.fdatasync(self._descriptor)
        except OSError as error:
            raise unavailable(error) from error

    def finish(self) -> None:
        try:
            os.fsync(self._descriptor)
            os.close(self._descriptor)
            folder = os.open(self._path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except OSError as error:
            raise unavailable(error) from error

    def abort(self) -> None:
        with suppress(OSError):
            os.close(self._descriptor)
        with suppress(OSError):
            self._path.unlink(missing_ok=True)


class DiskSource:
    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def read_at(self, offset: int, size: int) -> bytes:
        pieces: list[bytes] = []
        try:
            while size and (piece := os.pread(self._descriptor, size, offset)):
                pieces.append(piece)
                offset += len(piece)
                size -= len(piece)
        except OSError as error:
            raise unavailable(error) from error
        return b"".join(pieces)

    def close(self) -> None:
        with suppress(OSError):
            os.close(self._descriptor)


def is_short(folder: Path) -> bool:
    """True when the disk has less free than what is kept for calls that run, as
    gateway.stores.free_space has it."""
    try:
        disk = os.statvfs(folder)
    except OSError:
        return False
    size_bytes, free_bytes = disk.f_blocks * disk.f_frsize, disk.f_bavail * disk.f_frsize
    least_bytes = size_bytes * settings.MIN_FREE_PERCENT // 100
    return free_bytes < max(settings.MIN_FREE_MB * BYTES_PER_MB, least_bytes)
