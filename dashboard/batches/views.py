"""Batches: the list with their progress, their results as files, and cancelling one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.views.decorators.http import require_GET, require_http_methods

from accounts.models import Workspace
from accounts.permissions import Action
from dashboard.batches.rows import BatchRow, batch_rows, may_cancel
from dashboard.batches.table import PER_PAGE, batch_table
from dashboard.http.current_workspace import require
from dashboard.http.htmx import PageRequest, go_to, render_page
from dashboard.http.page_urls import page_address
from dashboard.http.query_params import read_id
from dashboard.ui.confirm import Question, ask
from dashboard.ui.tables import Table
from gateway.core.errors import StorageUnavailable
from gateway.file_storage.encryption import Damaged, DecryptingReader
from gateway.models import Batch
from gateway.models.batch import read_batch_id
from gateway.selectors.batches import list_batches
from gateway.selectors.files import readable
from gateway.selectors.visible import visible_to
from gateway.services.batches.creating import UNDER_WAY, cancel_batch
from gateway.services.files.reading import open_file

PIECE_BYTES = 256 * 1024


@dataclass(frozen=True, kw_only=True)
class BatchListContext:
    """Variables of dashboard/batches/list.html and _results.html. is_moving: a batch of the page is
    not over yet, so that the list is read again every few seconds."""

    table: Table[BatchRow]
    is_moving: bool
    here: str


@login_required
@require_GET
def show_batches(request: PageRequest) -> HttpResponse:
    workspace = require(request, Action.VIEW_OWN_USAGE)
    before = read_id(request.GET.get("before", ""))
    visible = visible_to(request.user, workspace)
    only = read_batch_id(request.GET.get("batch", ""))
    page = list_batches(
        workspace.pk, limit=PER_PAGE, after=before, key_ids=visible.key_ids, only=only
    )
    older = urlencode({"before": page.batches[-1].pk}) if page.has_more else ""
    return render_page(
        request,
        page="dashboard/batches/list.html",
        partial="dashboard/batches/_results.html",
        context=BatchListContext(
            table=batch_table(
                batch_rows(page.batches, workspace, request.user),
                older_url=f"{request.path}?{older}" if older else "",
                newest_url=request.path if before or only else "",
            ),
            is_moving=not all(batch.is_over for batch in page.batches),
            here=request.get_full_path(),
        ),
    )


@login_required
@require_http_methods(["GET", "POST"])
def cancel(request: PageRequest, batch_id: UUID) -> HttpResponse:
    """Ask, or cancel the batch."""
    workspace = require(request, Action.VIEW_OWN_USAGE)
    batch = _find(request, workspace, batch_id)
    if not may_cancel(request.user, workspace, batch):
        raise PermissionDenied("Your role does not allow you to cancel batches of this key.")
    back = page_address(workspace, "batch-list")
    if request.method == "GET":
        question = Question(
            title="Cancel this batch?",
            lines=[
                f"{batch.completed + batch.failed:,} of {batch.total:,} requests of "
                f"{batch.public_id} are done. Requests in progress are finished and charged. "
                "No others are sent.",
                "Results so far are kept in the output and error files.",
            ],
            action=page_address(workspace, "batch-cancel", batch.pk),
            button="Cancel batch",
            back=back,
        )
        return ask(request, question)
    was_under_way = batch.status in UNDER_WAY
    cancelled = cancel_batch(batch, actor=request.user.email)
    if was_under_way and cancelled.cancelling_at is not None:
        messages.success(request, f"{batch.public_id} is being cancelled.")
    else:
        messages.error(request, f"{batch.public_id} can no longer be cancelled.")
    return go_to(request, back)


@login_required
@require_GET
def download_output(request: PageRequest, batch_id: UUID) -> StreamingHttpResponse:
    workspace = require(request, Action.VIEW_OWN_USAGE)
    return _download(workspace, _find(request, workspace, batch_id).output_file)


@login_required
@require_GET
def download_errors(request: PageRequest, batch_id: UUID) -> StreamingHttpResponse:
    workspace = require(request, Action.VIEW_OWN_USAGE)
    return _download(workspace, _find(request, workspace, batch_id).error_file)


def _find(request: PageRequest, workspace: Workspace, batch_id: UUID) -> Batch:
    """Return a batch of a key that the person may see. Raises Http404."""
    rows = Batch.objects.filter(workspace_id=workspace.pk, pk=batch_id)
    visible = visible_to(request.user, workspace)
    if visible.key_ids is not None:
        rows = rows.filter(key_id__in=visible.key_ids)
    batch = rows.first()
    if batch is None:
        raise Http404("This batch does not exist in this workspace.")
    return batch


def _download(workspace: Workspace, file_id: UUID | None) -> StreamingHttpResponse:
    """Return a file of results, piece by piece. Raises Http404."""
    file = readable(workspace.pk).filter(pk=file_id).first() if file_id else None
    if file is None:
        raise Http404("This file does not exist in this workspace.")
    try:
        reader = open_file(file)
    except StorageUnavailable:
        raise Http404("The file cannot be read now. Try again later.") from None
    return StreamingHttpResponse(
        _Pieces(reader),
        content_type="application/octet-stream",
        headers={
            "Content-Disposition": f'attachment; filename="{file.filename}"',
            "Content-Length": str(file.size_bytes),
            "X-Content-Type-Options": "nosniff",
        },
    )


class _Pieces:
    """The pieces of a file; Django closes it at the end of the answer."""

    def __init__(self, reader: DecryptingReader) -> None:
        self._reader = reader

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while piece := await asyncio.to_thread(self._read):
            yield piece

    def _read(self) -> bytes:
        try:
            return bytes(self._reader.read(PIECE_BYTES))
        except Damaged as error:
            raise OSError(f"a file of results is damaged: {error}") from None

    def close(self) -> None:
        self._reader.close()
