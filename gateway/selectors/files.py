"""Stored files of a workspace: one, a page of them, and how much they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils import timezone

from gateway.core.file_ids import read_file_id
from gateway.models import StoredFile, WorkspaceStorage

State = StoredFile.State


class FilePage(NamedTuple):
    files: Sequence[StoredFile]
    has_more: bool


def readable(workspace_id: UUID) -> QuerySet[StoredFile]:
    """Return the files of a workspace that can be read now."""
    lives = Q(expires_at__isnull=True) | Q(expires_at__gt=timezone.now())
    return StoredFile.objects.filter(lives, workspace_id=workspace_id, state=State.READY)


def find_file(workspace_id: UUID, file_id: str) -> StoredFile | None:
    """Return a file that can be read now. None for one of another workspace as for none."""
    row_id = read_file_id(file_id)
    return None if row_id is None else readable(workspace_id).filter(pk=row_id).first()


def find_files(workspace_id: UUID, file_ids: Sequence[str]) -> list[StoredFile]:
    """Return those of these files that can be read now, the newest first."""
    row_ids = [row_id for each in file_ids if (row_id := read_file_id(each)) is not None]
    return list(readable(workspace_id).filter(pk__in=row_ids).order_by("-id"))


def has_expired(workspace_id: UUID, file_id: str) -> bool:
    """True for a file of the workspace that expired, as long as that is known."""
    row_id = read_file_id(file_id)
    if row_id is None:
        return False
    expired = Q(state=State.EXPIRED) | Q(state=State.READY, expires_at__lte=timezone.now())
    return StoredFile.objects.filter(expired, workspace_id=workspace_id, pk=row_id).exists()


def find_cursor(workspace_id: UUID, file_id: str) -> UUID | None:
    """Return where in the list a file is or was: lists go on behind one that has been deleted."""
    row_id = read_file_id(file_id)
    if row_id is None:
        return None
    rows = StoredFile.objects.filter(workspace_id=workspace_id, pk=row_id)
    return row_id if rows.exclude(state=State.UPLOADING).exclude(sha256="").exists() else None


def list_files(
    workspace_id: UUID,
    *,
    limit: int,
    purpose: str = "",
    after: UUID | None = None,
    ascending: bool = False,
) -> FilePage:
    """Return a page of files, the newest first unless ascending, without counting them."""
    rows = readable(workspace_id)
    if purpose:
        rows = rows.filter(purpose=purpose)
    if after is not None:
        rows = rows.filter(pk__gt=after) if ascending else rows.filter(pk__lt=after)
    found = list(rows.order_by("id" if ascending else "-id")[: limit + 1])
    return FilePage(found[:limit], len(found) > limit)


def find_storage(workspace_id: UUID) -> WorkspaceStorage | None:
    """Return what a workspace stores; None for nothing yet."""
    return WorkspaceStorage.objects.filter(pk=workspace_id).first()
