"""Queries that the writer's thread runs for others, each once."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from queue import SimpleQueue

from django.db import Error as DatabaseError


class Jobs:
    """What waits to be run. put is for any thread, the rest for the one that runs them."""

    def __init__(self) -> None:
        self._waiting: SimpleQueue[tuple[Future[object], Callable[[], object]]] = SimpleQueue()

    def put(self, query: Callable[..., object], *arguments: object) -> Future[object]:
        """Return the future of the query's answer."""
        future: Future[object] = Future()
        self._waiting.put((future, partial(query, *arguments)))
        return future

    def run(self) -> None:
        """Run all of them. Raises DatabaseError when the database does not answer; the future of
        the query has it too."""
        while not self._waiting.empty():
            future, query = self._waiting.get_nowait()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(query())
            except Exception as error:
                future.set_exception(error)
                if isinstance(error, DatabaseError):
                    raise

    def fail(self, error: Exception) -> None:
        """Fail all of them: the database does not answer, or nobody asks it any more."""
        while not self._waiting.empty():
            future, _ = self._waiting.get_nowait()
            if future.set_running_or_notify_cancel():
                future.set_exception(error)
