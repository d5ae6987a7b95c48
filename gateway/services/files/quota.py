"""The quota of a workspace: how many files it may have, and how many bytes in all.

What an upload needs is reserved before it is written, so that uploads at once cannot store more
than fits. The row of a file says what is reserved for it: after a kill the cleanup releases that
with the row. Whoever changes both rows changes the file's first.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.db import transaction
from django.db.models import F, QuerySet, Value
from django.utils import timezone

from gateway.core.errors import PayloadTooLarge, StorageUnavailable
from gateway.core.file_errors import StorageQuotaExceeded
from gateway.file_storage.stores import AWAY
from gateway.models import StoredFile, WorkspaceStorage
from gateway.services.files.limits import StorageLimits, limits_of

# Reserved at a time for an upload that has not said how long it is.
STEP_BYTES = 16 * 1024 * 1024
# What a form has beside its file, at the most: boundaries, heads and fields.
FORM_BYTES = 64 * 1024


def sizes_to_reserve(body_bytes: int) -> tuple[int, int]:
    """Return how much to reserve for the file of a form, if it fits, and else. body_bytes: of the
    whole form, 0 where that is not known."""
    return body_bytes, max(body_bytes - FORM_BYTES, 0)


def reserve_file(file: StoredFile, sizes: Sequence[int], limits: StorageLimits) -> None:
    """Reserve a file of the first of these sizes that fits, in the transaction that has inserted
    its row. Raises StorageQuotaExceeded."""
    for size in sizes:
        if _reserve(file.workspace_id, limits, size_bytes=size, files=1):
            if file.reserved_bytes != size:
                file.reserved_bytes = size
                file.save(update_fields=["reserved_bytes"])
            return
    raise quota_exceeded(_storage(file.workspace_id), sizes[-1])


def reserve_more(file: StoredFile, needed_bytes: int, limits: StorageLimits) -> None:
    """Reserve so much for a file in all, or some more. Raises StorageQuotaExceeded, and
    StorageUnavailable for an upload that was taken for dead."""
    has_bytes = file.reserved_bytes or 0
    with transaction.atomic():
        rows = lock_uploading(file)
        for size in (max(needed_bytes, has_bytes + STEP_BYTES), needed_bytes):
            if _reserve(file.workspace_id, limits, size_bytes=size - has_bytes):
                rows.update(reserved_bytes=size)
                break
        else:
            raise quota_exceeded(_storage(file.workspace_id), needed_bytes)
    file.reserved_bytes = size


def lock_uploading(file: StoredFile) -> QuerySet[StoredFile]:
    """Return the row of a file that is being uploaded, which nobody else changes until the
    transaction ends. Raises StorageUnavailable."""
    rows = StoredFile.objects.filter(pk=file.pk, state=StoredFile.State.UPLOADING)
    if not rows.update(touched_at=timezone.now()):
        raise StorageUnavailable(AWAY, detail="an upload was taken for dead")
    return rows


def release(file: StoredFile) -> None:
    """Release what is reserved for a file that will never be ready, in the transaction that says
    so in its row."""
    if file.reserved_bytes is not None:
        WorkspaceStorage.objects.filter(pk=file.workspace_id).update(
            reserved_files=F("reserved_files") - 1,
            reserved_bytes=F("reserved_bytes") - file.reserved_bytes,
        )


def count_ready(file: StoredFile, size_bytes: int) -> None:
    """Count a file that has become ready, in place of what is reserved for it, in the transaction
    of its row."""
    release(file)
    WorkspaceStorage.objects.filter(pk=file.workspace_id).update(
        files=F("files") + 1, size_bytes=F("size_bytes") + size_bytes
    )


def check_quota(storage: WorkspaceStorage, size_bytes: int) -> None:
    """Raise PayloadTooLarge or StorageQuotaExceeded for a file of so many bytes at the least."""
    limits = limits_of(storage)
    if size_bytes > limits.max_file_bytes:
        raise too_large(limits)
    files = storage.files + storage.reserved_files
    after = storage.size_bytes + storage.reserved_bytes + size_bytes
    if files >= limits.max_files or after > limits.max_storage_bytes:
        raise quota_exceeded(storage, size_bytes)


def too_large(limits: StorageLimits) -> PayloadTooLarge:
    return PayloadTooLarge(
        f"The file exceeds {limits.max_file_bytes} bytes, the limit of the workspace.",
        param="file",
        details={"max_file_size_bytes": limits.max_file_bytes},
    )


def quota_exceeded(storage: WorkspaceStorage, size_bytes: int) -> StorageQuotaExceeded:
    limits = limits_of(storage)
    files = storage.files + storage.reserved_files
    stored_bytes = storage.size_bytes + storage.reserved_bytes
    running = " with uploads that run" if storage.reserved_files else ""
    if files >= limits.max_files:
        message = f"The workspace has {files} files{running} and may have {limits.max_files}."
    else:
        message = (
            f"The workspace stores {stored_bytes} bytes{running} and may store "
            f"{limits.max_storage_bytes}. The file does not fit."
        )
    details = {
        "files_used": storage.files,
        "max_files": limits.max_files,
        "storage_used_bytes": storage.size_bytes,
        "max_storage_bytes": limits.max_storage_bytes,
    }
    return StorageQuotaExceeded(f"{message} Delete files first.", details=details)


def _reserve(workspace_id: UUID, limits: StorageLimits, *, size_bytes: int, files: int = 0) -> bool:
    """Reserve it if it fits. Returns whether it did."""
    rows = WorkspaceStorage.objects.filter(pk=workspace_id).annotate(
        all_files=F("files") + F("reserved_files") + Value(files),
        all_bytes=F("size_bytes") + F("reserved_bytes") + Value(size_bytes),
    )
    fitting = rows.filter(all_files__lte=limits.max_files, all_bytes__lte=limits.max_storage_bytes)
    return bool(
        fitting.update(
            reserved_files=F("reserved_files") + files,
            reserved_bytes=F("reserved_bytes") + size_bytes,
        )
    )


def _storage(workspace_id: UUID) -> WorkspaceStorage:
    return WorkspaceStorage.objects.get(pk=workspace_id)
