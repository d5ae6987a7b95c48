"""Applies what the change feed reports to the running process."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Coroutine

from gateway.admission.keyring import Keyring
from gateway.admission.limits import Limits
from gateway.core.errors import InvalidKey, WorkspaceLocked
from gateway.snapshot.types import KeyRecord
from gateway.stores.credit_reserver import CreditReserver
from gateway.stores.feed import Changes
from gateway.stores.key_records import is_workspace_locked
from gateway.stores.queries import RunQuery
from gateway.streaming.call_supervisor import CallSupervisor

logger = logging.getLogger(__name__)


class ChangeApplier:
    """Used on the event loop only. read: runs a query in a thread."""

    def __init__(
        self,
        *,
        keyring: Keyring,
        limits: Limits,
        supervisor: CallSupervisor,
        credits: CreditReserver,
        read: RunQuery,
        load_snapshot: Callable[[], Coroutine[object, None, None]],
        recall_budget: Callable[[str], None],
        forget_tools: Callable[[str], None],
    ) -> None:
        self._keyring = keyring
        self._limits = limits
        self._supervisor = supervisor
        self._credits = credits
        self._read = read
        self._load_snapshot = load_snapshot
        self._recall_budget = recall_budget
        self._forget_tools = forget_tools
        self._background: set[asyncio.Task[None]] = set()

    def apply(self, changes: Changes) -> None:
        """Drop what a change made untrue. Runs on the loop, several changes at a time."""
        reload = False
        for kind, ref in changes:
            if kind == "catalogue":
                reload = True
            elif kind == "key":
                stale = self._keyring.forget_key(ref)
                # Live calls of a key that is not in memory any more have to end, too.
                if stale is not None or len(self._supervisor):
                    self._spawn(self._follow_key(ref, stale))
            elif kind == "workspace":
                self._on_workspace_changed(as_uuid_text(ref))
            elif kind == "wallet":
                self._credits.on_wallet_changed(as_uuid_text(ref))
            else:
                self._forget(kind, as_uuid_text(ref) if ref else "")
        if reload:
            self._spawn(self._load_snapshot())

    def _forget(self, kind: str, owner: str) -> None:
        """Drop what is kept of an owner, or of all."""
        if kind == "budget":
            self._limits.spending.invalidate(owner)
        elif kind == "recall":
            self._credits.on_recall(owner)
            self._recall_budget(owner)
        elif kind == "tools":
            self._forget_tools(owner)

    async def _follow_key(self, digest: str, stale: KeyRecord | None) -> None:
        """End the live calls of a key that is no longer good, and let those that wait for their
        turn have what changed limits leave. stale: what was known of it."""
        fresh = await self._keyring.find(digest)
        if fresh is not None:
            self._limits.follow(fresh)
        known = fresh or stale
        if known is not None and (fresh is None or fresh.revoked):
            reason = InvalidKey("The API key has been revoked.")
            self._supervisor.interrupt_key(known.key_id, reason)

    def _on_workspace_changed(self, workspace_id: str) -> None:
        known = self._keyring.forget_workspace(workspace_id)
        if known and self._limits.has_queue(workspace_id):
            self._spawn(self._follow_key(known[0].digest, known[0]))
        if self._supervisor.has_calls_of(workspace_id):
            self._spawn(self._follow_workspace(workspace_id))

    async def _follow_workspace(self, workspace_id: str) -> None:
        """End the live calls of a workspace that has been locked."""
        if await self._read(is_workspace_locked, workspace_id):
            self._supervisor.interrupt_workspace(workspace_id, WorkspaceLocked())

    def _spawn(self, work: Coroutine[object, None, None]) -> None:
        task = asyncio.ensure_future(work)
        self._background.add(task)
        task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[None]) -> None:
        self._background.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("A change could not be applied: %r", error, exc_info=error)


def as_uuid_text(hexadecimal: str) -> str:
    """Return an id of the change feed as the data plane writes ids."""
    return str(uuid.UUID(hexadecimal))
