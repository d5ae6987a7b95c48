"""Writing a file: its row first, then its bytes, then row and counters in one transaction.

A process may end at any point. Before the last transaction there is a row that says `uploading`,
which the cleanup deletes with its bytes; after it there is a whole file, which is counted.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import TracebackType
from typing import Self
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import F, Value
from django.utils import timezone

from gateway.core.errors import Conflict, PayloadTooLarge, StorageUnavailable
from gateway.core.file_errors import StorageQuotaExceeded
from gateway.file_storage.encryption import EncryptingWriter
from gateway.file_storage.stores import AWAY, FileStoreWriter, new_name
from gateway.models import StoredFile, WorkspaceStorage
from gateway.services.files.limits import StorageLimits, limits_of
from gateway.services.files.places import data_key_of, files_store, storage_of

MB = 1024 * 1024
# A writer says at least so often that it is alive; the cleanup waits for five times as long.
TOUCH_EVERY_S = 60.0
KEYS_KEPT_FOR = timedelta(hours=24)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFile:
    """What a file is to be. key_id, uploaded_by: the API key or the member who uploads it.

    has_quota: False for what the gateway makes: it is counted, and never refused.
    """

    workspace_id: UUID
    filename: str = ""
    purpose: str = ""
    content_type: str = ""
    key_id: UUID | None = None
    uploaded_by: str = ""
    expires_at: datetime | None = None
    idempotency_key: str = ""
    has_quota: bool = True


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
        row = _insert(new)
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
        """Raises PayloadTooLarge for a file that becomes too large for its workspace."""
        self.size_bytes += len(data)
        if self._new.has_quota and self.size_bytes > self._limits.max_file_bytes:
            raise too_large(self._limits)
        self._digest.update(data)
        self._encrypting.write(data)
        if time.monotonic() - self._touched > TOUCH_EVERY_S:
            self.touch()

    def touch(self) -> None:
        """Say that the file is still being written. Needed where pieces come seldom."""
        self._touched = time.monotonic()
        rows = StoredFile.objects.filter(pk=self._row.pk, state=StoredFile.State.UPLOADING)
        if not rows.update(touched_at=timezone.now()):
            raise StorageUnavailable(AWAY, detail="an upload was taken for dead")

    def finish(
        self,
        new: NewFile | None = None,
        *,
        and_then: Callable[[StoredFile], object] | None = None,
    ) -> StoredFile:
        """Make the file one that can be read. Raises StorageQuotaExceeded.

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
        file, now = self._row, timezone.now()
        fields = {
            "filename": new.filename,
            "purpose": new.purpose,
            "content_type": new.content_type,
            "size_bytes": self.size_bytes,
            "sha256": self._digest.hexdigest(),
            "state": StoredFile.State.READY,
            "expires_at": new.expires_at,
            "touched_at": now,
        }
        rows = StoredFile.objects.filter(pk=file.pk, state=StoredFile.State.UPLOADING)
        if not rows.update(**fields):
            raise StorageUnavailable(AWAY, detail="an upload was taken for dead")
        count(file.workspace_id, self.size_bytes, self._limits if new.has_quota else None)
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


def count(workspace_id: UUID, size_bytes: int, limits: StorageLimits | None) -> None:
    """Count one more file of a workspace, in the transaction of its row. limits: None: none.

    Raises StorageQuotaExceeded.
    """
    rows = WorkspaceStorage.objects.filter(pk=workspace_id)
    if limits is not None:
        rows = rows.annotate(after=F("size_bytes") + Value(size_bytes)).filter(
            files__lt=limits.max_files, after__lte=limits.max_storage_bytes
        )
    if not rows.update(files=F("files") + 1, size_bytes=F("size_bytes") + size_bytes):
        raise quota_exceeded(WorkspaceStorage.objects.get(pk=workspace_id), size_bytes)


def check_quota(storage: WorkspaceStorage, size_bytes: int) -> None:
    """Raise PayloadTooLarge or StorageQuotaExceeded for a file of so many bytes at the least."""
    limits = limits_of(storage)
    if size_bytes > limits.max_file_bytes:
        raise too_large(limits)
    after = storage.size_bytes + size_bytes
    if storage.files >= limits.max_files or after > limits.max_storage_bytes:
        raise quota_exceeded(storage, size_bytes)


def too_large(limits: StorageLimits) -> PayloadTooLarge:
    return PayloadTooLarge(
        f"The file exceeds {limits.max_file_bytes} bytes, the limit of the workspace.",
        param="file",
        details={"max_file_size_bytes": limits.max_file_bytes},
    )


def quota_exceeded(storage: WorkspaceStorage, size_bytes: int) -> StorageQuotaExceeded:
    limits = limits_of(storage)
    if storage.files >= limits.max_files:
        message = f"The workspace has {storage.files} files and may have {limits.max_files}."
    else:
        message = (
            f"The workspace stores {storage.size_bytes} bytes and may store "
            f"{limits.max_storage_bytes}. The file does not fit."
        )
    details = {
        "files_used": storage.files,
        "max_files": limits.max_files,
        "storage_used_bytes": storage.size_bytes,
        "max_storage_bytes": limits.max_storage_bytes,
    }
    return StorageQuotaExceeded(f"{message} Delete files first.", details=details)


def _insert(new: NewFile) -> StoredFile:
    """Insert the row of a file that is to be written. Raises AlreadyUploaded, Conflict."""
    now = timezone.now()
    row = StoredFile(
        workspace_id=new.workspace_id,
        key_id=new.key_id,
        uploaded_by=new.uploaded_by,
        storage_name=new_name(),
        idempotency_key=new.idempotency_key,
        created_at=now,
        touched_at=now,
    )
    for _ in range(2):
        try:
            with transaction.atomic():
                row.save(force_insert=True)
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
    StoredFile.objects.filter(pk=row.pk, state=StoredFile.State.UPLOADING).delete()
