"""What the page of batches shows of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlencode
from uuid import UUID

from accounts.models import User, Workspace
from accounts.permissions import Action, may
from dashboard.http.page_urls import page_address
from dashboard.keys.labels import key_labels
from gateway.models import Batch
from gateway.selectors.id_times import first_id_at
from gateway.services.batches.creating import UNDER_WAY
from keys.models import ApiKey

Status = Batch.Status
_WORDS = {
    Status.VALIDATING: ("Validating", ""),
    Status.IN_PROGRESS: ("In progress", ""),
    Status.FINALIZING: ("Finalizing", ""),
    Status.COMPLETED: ("Completed", "badge-ok"),
    Status.FAILED: ("Failed", "badge-bad"),
    Status.EXPIRED: ("Expired", "badge-bad"),
    Status.CANCELLING: ("Cancelling", ""),
    Status.CANCELLED: ("Cancelled", ""),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRow:
    """One batch. Addresses are empty where there is nothing, or the person may not."""

    batch: Batch
    words: str
    css: str
    key: str
    key_url: str
    done: int
    error: str
    output_url: str
    errors_url: str
    cancel_url: str
    calls_url: str


def batch_rows(batches: Sequence[Batch], workspace: Workspace, person: User) -> list[BatchRow]:
    labels = key_labels(workspace.pk, {batch.key_id for batch in batches})
    return [_row(batch, workspace, person, labels) for batch in batches]


def may_cancel(person: User, workspace: Workspace, batch: Batch) -> bool:
    """True for who may change the key of the batch."""
    if may(person, Action.MANAGE_KEYS, workspace):
        return True
    is_own = ApiKey.objects.filter(pk=batch.key_id, created_by=person).exists()
    return is_own and may(person, Action.MAKE_KEYS, workspace)


def _calls_of(batch: Batch) -> str:
    """Return the query of the list of calls that begins where the batch ended."""
    query = {"period": "all", "key": str(batch.key_id), "batch": batch.public_id}
    if batch.ended_at is not None:
        query["before"] = str(first_id_at(batch.ended_at + timedelta(seconds=1)))
    return urlencode(query)


def _row(batch: Batch, workspace: Workspace, person: User, labels: dict[UUID, str]) -> BatchRow:
    words, css = _WORDS[Status(batch.status)]
    can_end = batch.status in UNDER_WAY and may_cancel(person, workspace, batch)

    def address(name: str) -> str:
        return page_address(workspace, name, batch.pk)

    return BatchRow(
        batch=batch,
        words=words,
        css=css,
        key=labels.get(batch.key_id, "Deleted key"),
        key_url=page_address(workspace, "key-edit", batch.key_id) if batch.key_id in labels else "",
        done=batch.completed + batch.failed,
        error=str(batch.errors[-1]["message"]) if batch.errors else "",
        output_url=address("batch-output") if batch.output_file else "",
        errors_url=address("batch-errors") if batch.error_file else "",
        cancel_url=address("batch-cancel") if can_end else "",
        calls_url=f"{page_address(workspace, 'call-list')}?{_calls_of(batch)}",
    )
