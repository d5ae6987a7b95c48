"""Background work that outlives a database which is away: the next run does what one could not.

An outage is told in two lines, when it begins and when it is over. Celery would log a traceback of
each run.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import wraps
from threading import Lock

from celery import shared_task
from django.db import Error as DatabaseError
from django.db import InterfaceError, OperationalError, connection

log = logging.getLogger(__name__)

Work = Callable[[], None]


class Outage:
    """Whether the database is away, of all threads of the worker together."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._is_on = False

    def begin(self, error: Exception) -> None:
        with self._lock:
            was_on, self._is_on = self._is_on, True
        if not was_on:
            log.warning("Background work waits for the database: %s", error)
        log.debug("background work failed", exc_info=error)

    def end(self) -> None:
        """Call after work that went well. It may not have needed the database, which is asked."""
        if not self._is_on or not _answers():
            return
        with self._lock:
            was_on, self._is_on = self._is_on, False
        if was_on:
            log.warning("The database answers again. Background work goes on.")


_outage = Outage()


def background_task(name: str) -> Callable[[Work], Work]:
    """Make a function a task of the worker, by this name."""

    def decorate(work: Work) -> Work:
        @wraps(work)
        def run() -> None:
            try:
                work()
            except (OperationalError, InterfaceError) as error:
                _outage.begin(error)
            else:
                _outage.end()

        task: Work = shared_task(name=name)(run)
        return task

    return decorate


def _answers() -> bool:
    try:
        connection.ensure_connection()
        return connection.is_usable()
    except DatabaseError:
        return False
