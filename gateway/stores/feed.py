"""Read the change feed: which data in memory is out of date (docs/adr/0003).

Asks for new ConfigChange rows every 250 ms from a thread with its own connection. Ids may become
visible out of order on PostgreSQL, where a transaction that took its id earlier may commit later:
so a gap is remembered and asked for again until it is too old to be filled.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from django.db import Error as DatabaseAway
from django.db import connection
from django.db.models import Max, Q

from accounts.models import ConfigChange
from gateway.stores.queries import wait_briefly

log = logging.getLogger(__name__)

POLL_S = 0.25
GAP_FILLED_WITHIN_S = 60.0
MAX_GAP = 1_000

Changes = list[tuple[str, str]]


def newest_change() -> int:
    """Return the id of the newest change. Take it before reading what changes are about."""
    return ConfigChange.objects.aggregate(newest=Max("id"))["newest"] or 0


class ChangeFeed:
    """Hands over what changed after a given id, in the order of ids, each change once."""

    def __init__(self, on_changes: Callable[[Changes], None], *, after: int) -> None:
        """on_changes gets (kind, ref) pairs, in the feed's own thread. after: see newest_change."""
        self._on_changes = on_changes
        self._newest = after
        self._gaps: dict[int, float] = {}
        self._asked_at = time.monotonic()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="change-feed", daemon=True)

    @property
    def age_s(self) -> float:
        """How long ago the database last said what has changed."""
        return time.monotonic() - self._asked_at

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread. Blocks until it has ended."""
        self._ending.set()
        self._thread.join()

    def poll(self) -> Changes:
        """Return what is new. Raises DatabaseError when the database does not answer."""
        now = time.monotonic()
        self._gaps = {gap: until for gap, until in self._gaps.items() if until > now}
        unseen = Q(id__gt=self._newest)
        if self._gaps:
            unseen |= Q(id__in=list(self._gaps))
        rows = list(
            ConfigChange.objects.filter(unseen).order_by("id").values_list("id", "kind", "ref")
        )
        for change_id, _, _ in rows:
            self._gaps.pop(change_id, None)
            skipped = range(max(self._newest + 1, change_id - MAX_GAP), change_id)
            self._gaps.update(dict.fromkeys(skipped, now + GAP_FILLED_WITHIN_S))
            self._newest = max(self._newest, change_id)
        return [(kind, ref) for _, kind, ref in rows]

    def _run(self) -> None:
        away = False
        while not self._ending.wait(POLL_S):
            try:
                if connection.connection is None:
                    wait_briefly()
                if changes := self.poll():
                    self._on_changes(changes)
                self._asked_at = time.monotonic()
                if away:
                    log.warning("the change feed works again")
                away = False
            except Exception as error:
                if not away:
                    expected = isinstance(error, DatabaseAway)
                    log.error("the change feed tries again: %r", error, exc_info=not expected)
                away = True
                connection.close()
        connection.close()
