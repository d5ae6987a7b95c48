"""Request ids chosen by callers: each can be used once in a workspace (docs/adr/0021).

The database has those of recorded calls, memory those that are not recorded yet.
"""

from __future__ import annotations

import uuid

from django.db import Error as DatabaseError

from gateway.selectors.call_names import find_call_named
from gateway.selectors.visible import Visible
from gateway.stores.queries import RunQuery

MAX_REMEMBERED = 10_000


class RequestIds:
    """For one process. run: carries a query out in a thread."""

    def __init__(self, run: RunQuery) -> None:
        self._run = run
        self._taken: dict[tuple[str, str], None] = {}

    async def take(self, workspace_id: str, wanted: str) -> bool:
        """True when the UUID names no call of the workspace yet, and names this one from now on.

        False also where that cannot be found out: the call then has the id that we gave it.
        """
        name = workspace_id, wanted
        if name in self._taken:
            return False
        self._taken[name] = None
        if len(self._taken) > MAX_REMEMBERED:
            del self._taken[next(iter(self._taken))]
        try:
            return not await self._run(_is_used, uuid.UUID(workspace_id), wanted)
        except DatabaseError:
            return False


def _is_used(workspace_id: uuid.UUID, wanted: str) -> bool:
    return find_call_named(Visible(workspace_id), wanted) is not None
