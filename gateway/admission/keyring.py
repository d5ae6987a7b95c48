"""Compiled keys, each loaded on first use by one loader however many calls wait for it. Those that
were used last are there from the start.

Unknown keys are remembered too, so that guessing does not reach the database twice for one
guess. Entries leave when the change feed names them, so a revoked key is refused within one
poll of the feed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from gateway.snapshot.types import KeyRecord

# About 0.7 kB each.
MAX_KNOWN = 50_000
MAX_UNKNOWN = 20_000
LOAD_ATTEMPTS = 3

Load = Callable[[str], Awaitable[KeyRecord | None]]


class Keyring:
    """Used from one event loop only.

    A record that was being read while the feed reported changes may be older than the change:
    it is read again, and not kept when changes do not stop.
    """

    def __init__(self, load: Load) -> None:
        self._load = load
        self._known: dict[str, KeyRecord] = {}
        # Returns the record that a digest has in memory. None says nothing about the key.
        self.peek: Callable[[str], KeyRecord | None] = self._known.get
        # The digests of the known keys of each workspace.
        self._of_workspace: dict[str, set[str]] = {}
        self._unknown: dict[str, None] = {}
        self._loading: dict[str, asyncio.Future[KeyRecord | None]] = {}
        self._changes_seen = 0

    def fill(self, records: Iterable[KeyRecord]) -> None:
        """Keep records that were read after the feed's position was taken, and before it starts."""
        for record in records:
            self._add(record)

    async def find(self, digest: str) -> KeyRecord | None:
        """Return the key's record, or None when there is no such key.

        Raises what the loader raises when the database cannot be reached: that is no verdict
        on the key.
        """
        record = self._known.get(digest)
        if record is not None or digest in self._unknown:
            return record
        loading = self._loading.get(digest)
        if loading is None:
            loading = asyncio.ensure_future(self._load_settled(digest))
            self._loading[digest] = loading
            loading.add_done_callback(lambda _: self._loading.pop(digest, None))
        # Shielded: a caller that leaves must not take the answer away from the others.
        return await asyncio.shield(loading)

    async def _load_settled(self, digest: str) -> KeyRecord | None:
        record = None
        for _ in range(LOAD_ATTEMPTS):
            seen = self._changes_seen
            record = await self._load(digest)
            if seen == self._changes_seen:
                self._keep(digest, record)
                return record
        return record

    def _keep(self, digest: str, record: KeyRecord | None) -> None:
        if record is None:
            if len(self._unknown) >= MAX_UNKNOWN:
                self._unknown.pop(next(iter(self._unknown)))
            self._unknown[digest] = None
            return
        if len(self._known) >= MAX_KNOWN:
            self._drop(next(iter(self._known)))
        self._add(record)

    def _add(self, record: KeyRecord) -> None:
        self._known[record.digest] = record
        self._of_workspace.setdefault(record.workspace_id, set()).add(record.digest)

    def _drop(self, digest: str) -> KeyRecord | None:
        record = self._known.pop(digest, None)
        if record is not None:
            others = self._of_workspace[record.workspace_id]
            others.remove(digest)
            if not others:
                del self._of_workspace[record.workspace_id]
        return record

    def forget_key(self, digest: str) -> KeyRecord | None:
        """Drop what is known of a key; return the record that was dropped."""
        self._changes_seen += 1
        self._unknown.pop(digest, None)
        return self._drop(digest)

    def forget_workspace(self, workspace_id: str) -> list[KeyRecord]:
        """Drop the records of a workspace's keys; return them."""
        self._changes_seen += 1
        return [self._known.pop(digest) for digest in self._of_workspace.pop(workspace_id, ())]
