"""Writing a file: its row first, then its bytes, then row and counters in one transaction.

A process may end at any point. Before the last transaction there is a row that says `uploading`,
which the cleanup deletes with its bytes; after it there is a whole file, which is counted.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import TracebackType
from typing import Self
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils import timezone

from gateway.core.errors import Conflict, StorageUnavailable
from gateway.file_storage.encryption import EncryptingWriter
from gateway.file_storage.stores import AWAY, FileStoreWriter, new_name
from gateway.models import StoredFile, WorkspaceStorage
from gateway.services.files.limits import StorageLimits, limits_of
from gateway.services.files.places import data_key_of, files_store, storage_of
from gateway.services.files.quota import (
    count_ready,
    lock_uploading,
    release,
    reserve_file,
    reserve_more,
    too_large,
)

# A writer says at least so often that it is alive; the cleanup waits for five times as long.
TOUCH_EVERY_S = 60.0
KEYS_KEPT_FOR = timedelta(hours=24)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFile:
    """What a file is to be. key_id, uploaded_by: the API key or the member who uploads it.

    expires_after: from its creation, in the place of expires_at. has_quota: False for what the
    gateway makes: it is counted, and never refused. reserve: how many bytes of the quota to reserve
    for it, if they fit, and else (gateway.services.files.quota).
    """

    workspace_id: UUID
    filename: str = ""
    purpose: str = ""
    content_type: str = ""
    key_id: UUID | None = None
    uploaded_by: str = ""
    expires_at: datetime | None = None
    expires_after: timedelta | None = None
    idempotency_key: str = ""
    has_quota: bool = True
    reserve: tuple[int, ...] = (0,)


class AlreadyUploaded(Exception):
    """The idempotency key was used within a day. file: what was uploaded with it."""

    def __init__(self, file: StoredFile) -> None:
        super().__init__(file.public_id)
        self.file = file


class FileWriter:
    """One file that is being written. Leaving the block without `finish` deletes it.

    For one thread at a time. Methods raise StorageUnavailable.
    """

    def __init__(self, new: NewFile, row: StoredFile, storage: WorkspaceStorage) -> None:
        self._new = new
        self._row = row
        self._limits = limits_of(storage)
        self._digest = hashlib.sha256()
        self._touched = time.monotonic()
        self._is_finished = False
        self.size_bytes = 0
        self._sink: FileStoreWriter = files_store().create(row.storage_name)
        self._encrypting = EncryptingWriter(self._sink, data_key_of(storage), row.pk.bytes)

    @classmethod
    def begin(cls, new: NewFile) -> FileWriter:
        """Insert the row of a file and open its place. Raises AlreadyUploaded, and Conflict while
        another upload with the idempotency key runs."""
        files_store()  # refused before there is a row
        storage = storage_of(new.workspace_id)
        row = _insert(new, limits_of(storage))
        try:
            return cls(new, row, storage)
        except BaseException:
            discard(row)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._is_finished:
            self.abort()

    @property
    def limits(self) -> StorageLimits:
        return self._limits

    def write(self, data: bytes) -> None:
        """Raises PayloadTooLarge and StorageQuotaExceeded for a file that becomes too large for
        its workspace."""
        self.size_bytes += len(data)
        if self._new.has_quota and self.size_bytes > self._limits.max_file_bytes:
            raise too_large(self._limits)
        if self._new.has_quota and self.size_bytes > (self._row.reserved_bytes or 0):
            reserve_more(self._row, self.size_bytes, self._limits)
        self._digest.update(data)
        self._encrypting.write(data)
        if time.monotonic() - self._touched > TOUCH_EVERY_S:
            self.touch()

    def touch(self) -> None:
        """Say that the file is still being written. Needed where pieces come seldom."""
        self._touched = time.monotonic()
        lock_uploading(self._row)

    def finish(
        self,
        new: NewFile | None = None,
        *,
        and_then: Callable[[StoredFile], object] | None = None,
    ) -> StoredFile:
        """Make the file one that can be read.

        new: what it is, where more is known now than at the beginning. and_then: runs in the same
        transaction.
        """
        new = new or self._new
        self._encrypting.finish()
        self._sink.finish()
        with transaction.atomic():
            file = self._make_ready(new)
            if and_then is not None:
                and_then(file)
        self._is_finished = True
        return file

    def _make_ready(self, new: NewFile) -> StoredFile:
        # A copy: where the transaction fails, the row is still what it was.
        file, now = copy(self._row), timezone.now()
        ends = new.expires_at
        if new.expires_after is not None:
            ends = file.created_at + new.expires_after
        fields = {
            "filename": new.filename,
            "purpose": new.purpose,
            "content_type": new.content_type,
            "size_bytes": self.size_bytes,
            "sha256": self._digest.hexdigest(),
            "state": StoredFile.State.READY,
            "expires_at": ends,
            "touched_at": now,
            "reserved_bytes": None,
        }
        rows = StoredFile.objects.filter(pk=file.pk, state=StoredFile.State.UPLOADING)
        if not rows.update(**fields):
            raise StorageUnavailable(AWAY, detail="an upload was taken for dead")
        count_ready(file, self.size_bytes)
        for name, value in fields.items():
            setattr(file, name, value)
        return file

    def abort(self) -> None:
        """Delete what there is of the file."""
        self._is_finished = True
        self._sink.abort()
        discard(self._row)


def write_file(
    new: NewFile,
    pieces: Iterable[bytes],
    *,
    and_then: Callable[[StoredFile], object] | None = None,
) -> StoredFile:
    """Store a file. Raises as FileWriter's methods do."""
    with FileWriter.begin(new) as writer:
        for piece in pieces:
            writer.write(piece)
        return writer.finish(and_then=and_then)


def _insert(new: NewFile, limits: StorageLimits) -> StoredFile:
    """Insert the row of a file that is to be written. Raises AlreadyUploaded, Conflict and
    StorageQuotaExceeded."""
    now = timezone.now()
    row = StoredFile(
        workspace_id=new.workspace_id,
        key_id=new.key_id,
        uploaded_by=new.uploaded_by,
        storage_name=new_name(),
        idempotency_key=new.idempotency_key,
        created_at=now,
        touched_at=now,
        reserved_bytes=new.reserve[0] if new.has_quota else None,
    )
    for _ in range(2):
        try:
            with transaction.atomic():
                row.save(force_insert=True)
                if new.has_quota:
                    reserve_file(row, new.reserve, limits)
            return row
        except IntegrityError:
            if not new.idempotency_key:
                raise
        _look_at_earlier(new)
    raise Conflict(retry_after_s=1)


def _look_at_earlier(new: NewFile) -> None:
    """Free an idempotency key whose day is over. Raises AlreadyUploaded, Conflict."""
    earlier = StoredFile.objects.filter(
        workspace_id=new.workspace_id, idempotency_key=new.idempotency_key
    )
    found = earlier.first()
    if found is None:
        return
    if found.state == StoredFile.State.UPLOADING:
        raise Conflict(retry_after_s=1)
    if found.created_at > timezone.now() - KEYS_KEPT_FOR:
        raise AlreadyUploaded(found)
    earlier.filter(pk=found.pk).update(idempotency_key="")


def discard(row: StoredFile) -> None:
    """Delete a file that was never finished: first its bytes, then its row."""
    files_store().delete(row.storage_name)
    with transaction.atomic(), suppress(StorageUnavailable):
        rows = lock_uploading(row)
        release(row)
        rows.delete()
