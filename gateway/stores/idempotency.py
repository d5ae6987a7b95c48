"""Idempotency keys: one run and one charge however often a request is sent (docs/adr/0036).

The row in the database decides, across processes: inserting it makes the key ours. A finished
answer is a part of the journal's record of its call, so that the one is never there without the
other; until that is posted, this process has it in memory. It is kept for a day. A row that a dead
process left unfinished is taken over once its journal has been posted.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable
from typing import cast

from django.utils import timezone

from gateway.core.errors import AnswerNotKept, Conflict, DatabaseUnavailable, IdempotencyMismatch
from gateway.models import KeptAnswer
from gateway.stores import kept_answers
from gateway.stores.kept_answers import (
    MAX_KEPT_BYTES,
    NOT_KEPT,
    RETRY_AFTER_S,
    Change,
    Done,
    Found,
    Free,
    Headers,
    Held,
    Kept,
)
from gateway.stores.queries import Batches, RunQuery

log = logging.getLogger(__name__)

RETRY_S = 1.0
SWEEP_S = 0.5
MAX_BATCH = 100

Name = tuple[str, str]
Mark = Callable[[], Callable[[], bool]]


class Claim:
    """The right to run the request of one idempotency key, or the answer it had."""

    def __init__(
        self,
        store: IdempotencyStore,
        name: Name,
        row: KeptAnswer,
        row_id: int,
        kept: Kept | None = None,
    ) -> None:
        self._store = store
        self.name = name
        self.row_id = row_id
        self.process_id = row.process_id
        self.call_id = str(row.call_id)
        self.fingerprint = row.fingerprint
        self.kept = kept

    def keep(self, status: int, headers: Headers, body: bytes) -> bytes:
        """Keep the whole answer, before its last byte is sent. Returns what the record of the
        call has to carry, which is written before the event loop goes on."""
        if len(body) > MAX_KEPT_BYTES:
            status, headers, body = NOT_KEPT, [], b""
        self.kept = Kept(status, headers, body, self.row_id, self.call_id)
        self._store.on_kept(self)
        return kept_answers.encode(self.kept)

    async def drop(self) -> None:
        """Free the key: there is no answer worth keeping, and a retry shall run."""
        if self.kept is None:
            await self._store.free(self)


class IdempotencyStore:
    """Claims for one process.

    read, write: carry a query out in a thread; write: in that of the process's one writer. mark:
    returns a function that tells whether all records are posted that there are now.
    """

    def __init__(self, read: RunQuery, write: RunQuery, mark: Mark) -> None:
        self._looks: Batches[KeptAnswer, Found]
        self._looks = Batches(read, kept_answers.look, max_batch=MAX_BATCH)
        self._writes: Batches[Change, Done]
        self._writes = Batches(write, kept_answers.write, max_batch=MAX_BATCH)
        self._mark = mark
        self._here: dict[Name, Claim] = {}  # running, or kept and not posted yet
        self._claiming: dict[Name, asyncio.Task[Claim]] = {}
        self._unposted: list[tuple[Claim, Callable[[], bool]]] = []
        self._timer: asyncio.TimerHandle | None = None
        # Only tasks that somebody holds are sure to run.
        self._late: set[asyncio.Task[None]] = set()

    async def claim(
        self, *, workspace_id: str, key: str, fingerprint: str, call_id: str, process_id: str
    ) -> Claim:
        """Return the claim on a key.

        Raises Conflict while the first request runs, IdempotencyMismatch when it was another
        request, AnswerNotKept when its answer was too large, DatabaseUnavailable when that cannot
        be found out.
        """
        name = workspace_id, key
        while (running := self._claiming.get(name)) is not None:
            await asyncio.wait([running])
        if (here := self._here.get(name)) is not None:
            return _judge(here, fingerprint)
        row = KeptAnswer(
            workspace_id=uuid.UUID(workspace_id),
            idempotency_key=key,
            fingerprint=fingerprint,
            call_id=uuid.UUID(call_id),
            process_id=uuid.UUID(process_id),
            created_at=timezone.now(),
        )
        claiming = asyncio.ensure_future(self._take(name, row))
        self._claiming[name] = claiming
        claiming.add_done_callback(lambda _: self._claiming.pop(name, None))
        try:
            return await asyncio.shield(claiming)
        except asyncio.CancelledError:
            claiming.add_done_callback(self._drop_unwanted)
            raise

    async def _take(self, name: Name, row: KeptAnswer) -> Claim:
        kept = await self._looks.ask(row)
        if kept is None:
            done = await self._writes.ask(row)
            if isinstance(done, Held):
                claim = self._here[name] = Claim(self, name, row, done.row_id)
                return claim
            kept = cast(Kept, done)
        return Claim(self, name, row, 0, cast(Kept, kept))

    def on_kept(self, claim: Claim) -> None:
        """Have the answer in memory until the record of its call is posted."""
        asyncio.get_running_loop().call_soon(self._watch, claim)

    def _watch(self, claim: Claim) -> None:
        self._unposted.append((claim, self._mark()))
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(SWEEP_S, self._sweep)

    def _sweep(self) -> None:
        unposted = []
        for claim, is_posted in self._unposted:
            if is_posted():
                self._here.pop(claim.name, None)
            else:
                unposted.append((claim, is_posted))
        self._unposted = unposted
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(SWEEP_S, self._sweep) if unposted else None

    async def free(self, claim: Claim) -> None:
        """Free a key now, or when the database is there again: the call has ended, its caller is
        not to be told of a failure that is none."""
        try:
            await self._free(claim)
        except DatabaseUnavailable as error:
            log.warning("an idempotency key will be freed later: %s", error.detail)
            late = asyncio.ensure_future(self._free_later(claim))
            self._late.add(late)
            late.add_done_callback(self._late.discard)

    async def _free(self, claim: Claim) -> None:
        await self._writes.ask(Free(claim.row_id, claim.process_id))
        self._here.pop(claim.name, None)

    async def _free_later(self, claim: Claim) -> None:
        while True:
            await asyncio.sleep(RETRY_S)
            try:
                return await self._free(claim)
            except DatabaseUnavailable:
                continue

    def _drop_unwanted(self, claiming: asyncio.Task[Claim]) -> None:
        """Free a key that was claimed for a call that is gone."""
        if not claiming.cancelled() and claiming.exception() is None:
            late = asyncio.ensure_future(claiming.result().drop())
            self._late.add(late)
            late.add_done_callback(self._late.discard)


def _judge(here: Claim, fingerprint: str) -> Claim:
    """Return the claim with the answer of a request of this process. Raises as claim does."""
    if here.fingerprint != fingerprint:
        raise IdempotencyMismatch
    if here.kept is None:
        raise Conflict(retry_after_s=RETRY_AFTER_S)
    if here.kept.status == NOT_KEPT:
        raise AnswerNotKept
    return here
