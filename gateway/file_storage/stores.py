"""Where the bytes of files are kept. Names are random and say nothing of the file.

A file is written once and never changed. Its row is there before its first byte, so that nothing
is kept that no row knows (gateway.services.files.writing).
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple, Protocol

from gateway.core.errors import StorageUnavailable
from gateway.file_storage.encryption import Source

AWAY = "The storage of files is not available right now."
# The file or object that says whose folder or bucket it is (gateway.services.files.places).
MARK_NAME = "tollhouse-storage"


class Missing(Exception):
    """There are no bytes under the name."""


class FileStoreWriter(Protocol):
    """One file that is being written."""

    def write(self, data: bytes) -> None: ...

    def finish(self) -> None:
        """Return once the bytes survive the loss of power."""

    def abort(self) -> None:
        """Give up, and leave as little as possible."""


class StoredName(NamedTuple):
    name: str
    modified_at: datetime


class FileStore(Protocol):
    """A folder or a bucket. Methods raise StorageUnavailable where it is away or full."""

    # As people know it.
    place: str

    def read_mark(self) -> str:
        """Return what says whose it is; empty where nothing does yet."""

    def write_mark(self, mark: str) -> None:
        """Say whose it is, unless something does."""

    def create(self, name: str) -> FileStoreWriter: ...

    def open(self, name: str) -> Source:
        """Raises Missing."""

    def delete(self, name: str) -> None:
        """Delete the bytes, if there are any."""

    def names(self) -> Iterator[StoredName]:
        """Yield all that is kept, with when it was last written to."""

    def delete_unfinished(self, before: datetime) -> int:
        """Delete what is kept of files that were begun before and never finished, as far as
        `names` does not tell of it. Returns how many."""


def new_name() -> str:
    """Return a name under which nothing is kept."""
    return secrets.token_hex(16)


def unavailable(error: BaseException) -> StorageUnavailable:
    """Return the refusal for a storage that failed. What it said is for the log alone."""
    return StorageUnavailable(AWAY, detail=repr(error), retry_after_s=5)
