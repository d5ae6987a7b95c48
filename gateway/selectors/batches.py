"""Batches of a workspace: one, and a page of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from django.db.models import QuerySet

from gateway.models import Batch
from gateway.models.batch import read_batch_id


class BatchPage(NamedTuple):
    batches: Sequence[Batch]
    has_more: bool


def find_batch(workspace_id: UUID, batch_id: str) -> Batch | None:
    """Return a batch; None for one of another workspace as for none."""
    row_id = read_batch_id(batch_id)
    if row_id is None:
        return None
    return Batch.objects.filter(workspace_id=workspace_id, pk=row_id).first()


def list_batches(
    workspace_id: UUID,
    *,
    limit: int,
    after: UUID | None = None,
    key_ids: Sequence[UUID] | None = None,
    only: UUID | None = None,
) -> BatchPage:
    """Return the newest batches, those behind `after`. key_ids: only of these keys. only: this
    one alone."""
    rows: QuerySet[Batch] = Batch.objects.filter(workspace_id=workspace_id)
    if key_ids is not None:
        rows = rows.filter(key_id__in=key_ids)
    if only is not None:
        rows = rows.filter(pk=only)
    if after is not None:
        rows = rows.filter(pk__lt=after)
    found = list(rows.order_by("-id")[: limit + 1])
    return BatchPage(found[:limit], len(found) > limit)
