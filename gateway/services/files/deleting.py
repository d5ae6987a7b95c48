"""Deleting files: row and counters in one transaction, then the bytes. What is left of a process
that ends in between, the cleanup deletes."""

from __future__ import annotations

import logging
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from accounts.changes import record_audit
from accounts.models import Workspace
from gateway.core.errors import StorageUnavailable
from gateway.models import StoredFile, WorkspaceStorage
from gateway.services.files.places import files_store

log = logging.getLogger(__name__)


def delete_file(
    file: StoredFile,
    *,
    actor: str = "",
    state: StoredFile.State = StoredFile.State.DELETED,
) -> bool:
    """Delete a file that is ready. Returns whether it was there: it is deleted once.

    actor: a member, for the audit log; empty for API keys and the cleanup.
    """
    with transaction.atomic():
        rows = StoredFile.objects.filter(pk=file.pk, state=StoredFile.State.READY)
        if not rows.update(state=state, touched_at=timezone.now(), idempotency_key=""):
            return False
        storage = WorkspaceStorage.objects.filter(pk=file.workspace_id)
        storage.update(files=F("files") - 1, size_bytes=F("size_bytes") - file.size_bytes)
        if actor:
            _audit(file.workspace_id, actor, file)
    try:
        delete_bytes(file)
    except StorageUnavailable as error:
        log.warning("the bytes of a file will be deleted later: %s", error.detail)
    return True


def delete_bytes(file: StoredFile) -> None:
    """Delete the bytes of a file that was deleted. Raises StorageUnavailable."""
    files_store().delete(file.storage_name)
    StoredFile.objects.filter(pk=file.pk, storage_name=file.storage_name).update(storage_name="")


def _audit(workspace_id: UUID, actor: str, file: StoredFile) -> None:
    record_audit(
        actor=actor,
        action="file.delete",
        target=file.public_id,
        workspace=Workspace.objects.filter(pk=workspace_id).first(),
        details={"filename": file.filename, "size_bytes": file.size_bytes},
    )
