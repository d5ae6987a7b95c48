"""Idempotency keys: one run and one charge however often a request is sent (docs/adr/0017).

The row in the database decides, across processes: inserting it makes the key ours. Finished
answers are kept for a day. A row that a dead process left unfinished is taken over.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

import msgspec
from django.db import Error as DatabaseError
from django.db import IntegrityError, transaction
from django.utils import timezone

from gateway.core.errors import Conflict, DatabaseUnavailable, IdempotencyMismatch
from gateway.models import KeptAnswer, ServingProcess

log = logging.getLogger(__name__)

KEPT_FOR = timedelta(hours=24)
RETRY_S = 1.0
MAX_KEPT_BYTES = 16 * 1024 * 1024

Headers = list[tuple[bytes, bytes]]
# Only tasks that somebody holds are sure to run.
_late: set[asyncio.Task[None]] = set()
Run = Callable[..., Awaitable[Any]]


class Kept(msgspec.Struct, frozen=True):
    """A finished answer, as it was sent."""

    status: int
    headers: Headers
    body: bytes


class Claim:
    """The right to run the request of one idempotency key, or the answer it had."""

    def __init__(self, run: Run, row_id: int, kept: Kept | None = None) -> None:
        self._run = run
        self._row_id = row_id
        self.kept = kept

    async def keep(self, status: int, headers: Headers, body: bytes) -> None:
        """Keep the whole answer, before its last byte is sent. One too large is let go."""
        if len(body) > MAX_KEPT_BYTES:
            return await self.drop()
        await self._write(_finish, self._row_id, Kept(status, headers, body))

    async def drop(self) -> None:
        """Free the key: there is no answer worth keeping, and a retry shall run."""
        await self._write(_delete, self._row_id)

    async def _write(self, *query: Any) -> None:
        """Write it now, or when the database is there again: the call has ended, its caller is not
        to be told of a failure that is none."""
        try:
            await self._run(*query)
        except DatabaseError as error:
            log.warning("an idempotency key is brought up to date later: %r", error)
            late = asyncio.ensure_future(self._write_later(query))
            _late.add(late)
            late.add_done_callback(_late.discard)

    async def _write_later(self, query: tuple[Any, ...]) -> None:
        while True:
            await asyncio.sleep(RETRY_S)
            with suppress(DatabaseError):
                await self._run(*query)
                return


class Replays:
    """Claims for one process. run: carries a query out in a thread."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def claim(
        self, *, workspace_id: str, key: str, fingerprint: str, call_id: str, process_id: str
    ) -> Claim:
        """Return the claim on a key.

        Raises Conflict while the first request runs, IdempotencyMismatch when it was another
        request, DatabaseUnavailable when that cannot be found out.
        """
        row = KeptAnswer(
            workspace_id=uuid.UUID(workspace_id),
            idempotency_key=key,
            fingerprint=fingerprint,
            call_id=uuid.UUID(call_id),
            process_id=uuid.UUID(process_id),
            created_at=timezone.now(),
        )
        try:
            row_id, kept = await self._run(_claim, row)
        except DatabaseError as error:
            raise DatabaseUnavailable(detail=repr(error), retry_after_s=1) from error
        return Claim(self._run, row_id, kept)


def _claim(row: KeptAnswer) -> tuple[int, Kept | None]:
    with transaction.atomic():
        KeptAnswer.objects.filter(
            workspace_id=row.workspace_id,
            idempotency_key=row.idempotency_key,
            created_at__lt=timezone.now() - KEPT_FOR,
        ).delete()
        found = _find(row)
        if found is None:
            try:
                with transaction.atomic():
                    row.save(force_insert=True)
            except IntegrityError:
                found = _find(row)
            else:
                return row.pk, None
        if found is None:
            raise Conflict
        return _judge(found, row)


def _find(row: KeptAnswer) -> KeptAnswer | None:
    return KeptAnswer.objects.filter(
        workspace_id=row.workspace_id, idempotency_key=row.idempotency_key
    ).first()


def _judge(found: KeptAnswer, row: KeptAnswer) -> tuple[int, Kept | None]:
    """Decide by what is there under the same key."""
    is_ours = found.process_id == row.process_id  # alive, whatever its lease says
    if not found.finished and not is_ours and not _is_alive(found.process_id):
        taken = KeptAnswer.objects.filter(pk=found.pk, process_id=found.process_id).update(
            process_id=row.process_id,
            call_id=row.call_id,
            fingerprint=row.fingerprint,
            created_at=row.created_at,
        )
        if not taken:
            raise Conflict
        return found.pk, None
    if found.fingerprint != row.fingerprint:
        raise IdempotencyMismatch
    if not found.finished:
        raise Conflict
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in found.headers]
    return found.pk, Kept(found.status, headers, bytes(found.body))


def _is_alive(process_id: uuid.UUID) -> bool:
    return ServingProcess.objects.filter(
        pk=process_id, state=ServingProcess.State.ALIVE, lease_until__gt=timezone.now()
    ).exists()


def _finish(row_id: int, kept: Kept) -> None:
    KeptAnswer.objects.filter(pk=row_id).update(
        finished=True,
        status=kept.status,
        headers=[[name.decode("latin-1"), value.decode("latin-1")] for name, value in kept.headers],
        body=kept.body,
    )


def _delete(row_id: int) -> None:
    KeptAnswer.objects.filter(pk=row_id, finished=False).delete()
