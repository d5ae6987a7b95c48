"""Creating and cancelling batches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.changes import record_audit
from accounts.models import Workspace
from gateway.core.errors import IdempotencyMismatch
from gateway.models import Batch, StoredFile

Status = Batch.Status
WINDOW = timedelta(hours=24)
UNDER_WAY = (Status.VALIDATING, Status.IN_PROGRESS)
CANCELLED = ("batch_cancelled", "The batch was cancelled before this request was made.")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewBatch:
    """What a batch is to be. input_file: one of the workspace, of purpose batch.
    output_expires_after_s: of its files of results, from their creation; None for as usual."""

    workspace_id: UUID
    key_id: UUID
    ip: str
    endpoint: str
    input_file: StoredFile
    metadata: Mapping[str, str] = field(default_factory=dict)
    output_expires_after_s: int | None = None
    idempotency_key: str = ""


def create_batch(new: NewBatch) -> Batch:
    """Return the batch, which a worker begins with. The same idempotency key: the same batch.

    Raises IdempotencyMismatch for a key that was used for another.
    """
    now = timezone.now()
    batch = Batch(
        workspace_id=new.workspace_id,
        key_id=new.key_id,
        ip=new.ip,
        idempotency_key=new.idempotency_key,
        endpoint=new.endpoint,
        input_file=new.input_file.pk,
        metadata=dict(new.metadata),
        output_expires_after_s=new.output_expires_after_s,
        created_at=now,
        expires_at=now + WINDOW,
    )
    try:
        with transaction.atomic():
            batch.save(force_insert=True)
    except IntegrityError:
        if not new.idempotency_key:
            raise
        earlier = Batch.objects.get(
            workspace_id=new.workspace_id, idempotency_key=new.idempotency_key
        )
        if _asked(batch) != _asked(earlier):
            raise IdempotencyMismatch from None
        return earlier
    return batch


def _asked(batch: Batch) -> tuple[object, ...]:
    """Return what a caller has said of a batch."""
    return (batch.endpoint, batch.input_file, batch.metadata, batch.output_expires_after_s)


def cancel_batch(batch: Batch, *, actor: str = "") -> Batch:
    """Have no further requests made; those under way are finished. Returns the batch as it is then;
    one that is over, or is being finished, stays as it is.

    actor: a member or a command, for the audit log; empty for API keys.
    """
    with transaction.atomic():
        rows = Batch.objects.filter(pk=batch.pk, status__in=UNDER_WAY)
        code, message = CANCELLED
        was_cancelled = rows.update(
            status=Status.CANCELLING,
            cancelling_at=timezone.now(),
            not_before=None,
            stop_code=code,
            stop_message=message,
        )
        if was_cancelled and actor:
            record_audit(
                actor=actor,
                action="batch.cancel",
                target=batch.public_id,
                workspace=Workspace.objects.filter(pk=batch.workspace_id).first(),
                details={"endpoint": batch.endpoint},
            )
    batch.refresh_from_db()
    return batch
