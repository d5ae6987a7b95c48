"""The rows of idempotency keys: who may run a request, and its answer (docs/adr/0036)."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import NamedTuple

import msgspec
from django.db import IntegrityError, transaction
from django.utils import timezone

from gateway.core.errors import AnswerNotKept, Conflict, GatewayError, IdempotencyMismatch
from gateway.models import KeptAnswer, ServingProcess

KEPT_FOR = timedelta(hours=24)
MAX_KEPT_BYTES = 16 * 1024 * 1024
NOT_KEPT = 0  # the status of an answer that was too large
RETRY_AFTER_S = 1

Headers = list[tuple[bytes, bytes]]


class Kept(msgspec.Struct, frozen=True):
    """A finished answer, as it was sent."""

    status: int
    headers: Headers
    body: bytes
    # The row that it belongs in.
    row_id: int = 0
    # The call that the row is for, unless another process has taken the row over.
    call_id: str = ""


class Free(NamedTuple):
    """A request to free a key: there is no answer to keep."""

    row_id: int
    process_id: uuid.UUID


class Held(NamedTuple):
    """A key that is ours now."""

    row_id: int


Change = KeptAnswer | Free
Found = Kept | GatewayError | None
Done = Held | Kept | GatewayError | None


def encode(kept: Kept) -> bytes:
    """Return what the journal's record of the call carries."""
    return msgspec.msgpack.encode(kept)


def keep_answers(encoded: Iterable[bytes]) -> None:
    """Write the answers of ended calls down, inside the transaction that writes their records."""
    for one in encoded:
        kept = msgspec.msgpack.decode(one, type=Kept)
        row = KeptAnswer.objects.filter(pk=kept.row_id, call_id=kept.call_id, finished=False)
        row.update(
            finished=True,
            status=kept.status,
            headers=[
                [name.decode("latin-1"), value.decode("latin-1")] for name, value in kept.headers
            ],
            body=kept.body,
        )


def look(rows: Sequence[KeptAnswer]) -> list[Found]:
    """Return what is there under the key of each row: an answer, why there is none, or nothing
    that is in the way of a claim. Only reads: a lock on the database does not matter."""
    return [_look(row) for row in rows]


def _look(row: KeptAnswer) -> Found:
    found = _find(row)
    if found is None or found.created_at < timezone.now() - KEPT_FOR:
        return None
    return None if _is_abandoned(found, row) else _judge(found, row)


def write(changes: Sequence[Change]) -> list[Done]:
    """Claim and free keys, all in one transaction. Raises DatabaseError when nothing was done."""
    with transaction.atomic():
        return [_free(change) if isinstance(change, Free) else _claim(change) for change in changes]


def _free(change: Free) -> Done:
    row = KeptAnswer.objects.filter(pk=change.row_id, process_id=change.process_id)
    row.filter(finished=False).delete()
    return None


def _claim(row: KeptAnswer) -> Done:
    old = timezone.now() - KEPT_FOR
    same = {"workspace_id": row.workspace_id, "idempotency_key": row.idempotency_key}
    KeptAnswer.objects.filter(**same, created_at__lt=old).delete()
    found = _find(row)
    if found is None:
        try:
            with transaction.atomic():
                row.save(force_insert=True)
        except IntegrityError:
            found = _find(row)
        else:
            return Held(row.pk)
    if found is None:
        return Conflict(retry_after_s=RETRY_AFTER_S)
    if not _is_abandoned(found, row):
        return _judge(found, row)
    taken = KeptAnswer.objects.filter(
        pk=found.pk, process_id=found.process_id, finished=False
    ).update(
        process_id=row.process_id,
        call_id=row.call_id,
        fingerprint=row.fingerprint,
        created_at=row.created_at,
    )
    return Held(found.pk) if taken else Conflict(retry_after_s=RETRY_AFTER_S)


def _find(row: KeptAnswer) -> KeptAnswer | None:
    return KeptAnswer.objects.filter(
        workspace_id=row.workspace_id, idempotency_key=row.idempotency_key
    ).first()


def _is_abandoned(found: KeptAnswer, row: KeptAnswer) -> bool:
    """True when a process has left it unfinished. One that is only silent may have the answer in
    its journal: it is waited for until somebody has ended it and posted that."""
    if found.finished or found.process_id == row.process_id:
        return False
    return not ServingProcess.objects.filter(
        pk=found.process_id, state=ServingProcess.State.ALIVE
    ).exists()


def _judge(found: KeptAnswer, row: KeptAnswer) -> Kept | GatewayError:
    """Return the answer that is there, or why it is not to be had."""
    if found.fingerprint != row.fingerprint:
        return IdempotencyMismatch()
    if not found.finished:
        return Conflict(retry_after_s=RETRY_AFTER_S)
    if found.status == NOT_KEPT:
        return AnswerNotKept()
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in found.headers]
    return Kept(found.status, headers, bytes(found.body))
