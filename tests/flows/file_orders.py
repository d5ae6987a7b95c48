"""Orders about stored files (tests.flows.orders). To be imported once Django is set up."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.models import Count, Sum
from django.utils import timezone

from accounts.models import Workspace
from gateway.core.file_ids import read_file_id
from gateway.models import Batch, StoredFile, WorkspaceStorage
from gateway.models.batch import read_batch_id
from gateway.services.files import cleaning
from gateway.services.files.limits import set_storage_limits

ACTOR = "operator"


def storage_limits(*, workspace_id: str, **limits: int | None) -> None:
    workspace = Workspace.objects.get(pk=workspace_id)
    set_storage_limits(workspace, actor=ACTOR, limits=limits)


def stored_bytes(*, workspace_id: str) -> list[int]:
    """Return how many files there are and their bytes; the counters have to say the same."""
    ready = StoredFile.objects.filter(workspace_id=workspace_id, state="ready")
    found = ready.aggregate(files=Count("pk"), size=Sum("size_bytes"))
    told = WorkspaceStorage.objects.get(pk=workspace_id)
    assert (told.files, told.size_bytes) == (found["files"], found["size"] or 0)
    running = StoredFile.objects.filter(workspace_id=workspace_id, state="uploading")
    reserved = running.aggregate(files=Count("reserved_bytes"), size=Sum("reserved_bytes"))
    expected = (reserved["files"], reserved["size"] or 0)
    assert (told.reserved_files, told.reserved_bytes) == expected
    return [told.files, told.size_bytes]


def reserved_files(*, workspace_id: str) -> int:
    """Return how many uploads of a workspace are running."""
    rows = WorkspaceStorage.objects.filter(pk=workspace_id)
    return rows.values_list("reserved_files", flat=True).first() or 0


def storage_names() -> list[str]:
    """Return under which names the bytes of all files are."""
    rows = StoredFile.objects.exclude(storage_name="")
    return list(rows.values_list("storage_name", flat=True))


def expire_file(*, file_id: str) -> None:
    rows = StoredFile.objects.filter(pk=read_file_id(file_id) or UUID(int=0))
    assert rows.update(expires_at=timezone.now() - timedelta(seconds=1)) == 1


def clean_files(*, at_once: bool = False) -> dict[str, int]:
    """at_once: nobody uploads now, so what is unfinished is dead."""
    none = timedelta(0)
    if at_once:
        found = cleaning.clean_files(dead_after=none, orphan_after=none)
    else:
        found = cleaning.clean_files()
    return {name: getattr(found, name) for name in found.__slots__}


def end_batch_window(*, batch_id: str) -> None:
    """Have the completion window of a batch be over."""
    row_id = read_batch_id(batch_id)
    assert row_id is not None
    found = Batch.objects.filter(pk=row_id)
    found.update(expires_at=timezone.now())


ORDERS: dict[str, Callable[..., Any]] = {
    order.__name__: order
    for order in (
        storage_limits,
        stored_bytes,
        reserved_files,
        storage_names,
        expire_file,
        clean_files,
        end_batch_window,
    )
}
