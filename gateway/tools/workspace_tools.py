"""What is set of tools for workspaces, read when a call of one first names a plugin."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from gateway.snapshot.tools import WorkspaceTools

MAX_KNOWN = 5_000
LOAD_ATTEMPTS = 3
Load = Callable[[str], Awaitable[WorkspaceTools]]


class WorkspaceToolsCache:
    """For one event loop. load: reads the settings of a workspace.

    Settings that were being read while the feed reported a change may be older than the change:
    they are read again, and not kept when changes do not stop.
    """

    def __init__(self, load: Load) -> None:
        self._load = load
        self._known: dict[str, WorkspaceTools] = {}
        self._loading: dict[str, asyncio.Future[WorkspaceTools]] = {}
        self._changes_seen = 0

    async def find(self, workspace_id: str) -> WorkspaceTools:
        """Return what is set for a workspace. Raises what `load` raises."""
        known = self._known.get(workspace_id)
        if known is not None:
            return known
        loading = self._loading.get(workspace_id)
        if loading is None:
            loading = asyncio.ensure_future(self._load_settled(workspace_id))
            self._loading[workspace_id] = loading
            loading.add_done_callback(lambda _: self._loading.pop(workspace_id, None))
        # Shielded: a call that ends must not take the answer away from the others.
        return await asyncio.shield(loading)

    def invalidate(self, workspace_id: str) -> None:
        """Forget a workspace's settings; with an empty ID all."""
        self._changes_seen += 1
        if workspace_id:
            self._known.pop(workspace_id, None)
        else:
            self._known.clear()

    async def _load_settled(self, workspace_id: str) -> WorkspaceTools:
        found = WorkspaceTools()
        for _ in range(LOAD_ATTEMPTS):
            seen = self._changes_seen
            found = await self._load(workspace_id)
            if seen == self._changes_seen:
                while len(self._known) >= MAX_KNOWN:
                    self._known.pop(next(iter(self._known)))
                self._known[workspace_id] = found
                break
        return found
