"""Queries for the event loop, each kind in threads of its own, so that none waits for another's.

Threads of the loop's default pool are few and shared: what held all of them held every caller.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Generic, ParamSpec, Protocol, TypeVar

from django.db import Error as DatabaseError
from django.db import close_old_connections, connection, connections

from gateway.config.database_url import own_connection
from gateway.core.errors import DatabaseUnavailable, GatewayError

log = logging.getLogger(__name__)

BUSY_MS = 250  # how long a query waits for a lock that another program holds
STATEMENT_MS = 5_000  # and for its answer, from a server that may be far away
ANSWER_S = 5.0  # a server that says nothing is waited for by the thread alone
MAX_BATCH = 500
Q = TypeVar("Q")
A = TypeVar("A")
R = TypeVar("R")
P = ParamSpec("P")


class RunQuery(Protocol):
    """Carries a query out somewhere else, and returns its answer."""

    async def __call__(
        self, query: Callable[P, R], /, *arguments: P.args, **named: P.kwargs
    ) -> R: ...


class QueryThreads:
    """A pool of threads for queries. They end with the process."""

    def __init__(self, name: str, threads: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)

    async def run(self, query: Callable[P, R], /, *arguments: P.args, **named: P.kwargs) -> R:
        """Run a query in a thread. Raises what it raises; DatabaseError when the database is away
        or locked for longer than BUSY_MS."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, partial(_run, query, *arguments, **named))


def _run(query: Callable[P, R], /, *arguments: P.args, **named: P.kwargs) -> R:
    close_old_connections()  # one that went bad is not used again
    if connection.connection is None:
        wait_briefly()
    return query(*arguments, **named)


def wait_briefly(lock_ms: int = BUSY_MS, statement_ms: int = STATEMENT_MS) -> None:
    """Connect this thread, and do not wait long for a lock: a call waits for the answer.

    lock_ms, statement_ms: how long on PostgreSQL, where locks are of rows and the connection stays
    this thread's.
    """
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
        return
    shared = connections.settings[connection.alias]
    connection.settings_dict = own_connection(shared, lock_ms=lock_ms, statement_ms=statement_ms)
    connection.ensure_connection()


class Batches(Generic[Q, A]):
    """Questions of one kind, asked together: one query at a time, for all callers that wait.

    answer: returns an answer for each question, in order; an exception among them is raised for
    its question alone. run: carries it out in a thread. Used from one event loop only.
    """

    def __init__(
        self,
        run: RunQuery,
        answer: Callable[[Sequence[Q]], Sequence[A | Exception]],
        *,
        max_batch: int = MAX_BATCH,
    ) -> None:
        self._run = run
        self._answer = answer
        self._max_batch = max_batch
        self._waiting: list[tuple[Q, asyncio.Future[A]]] = []
        self._work: asyncio.Task[None] | None = None

    async def ask(self, question: Q) -> A:
        """Return the answer. Raises DatabaseUnavailable when there was none for anybody in time."""
        future: asyncio.Future[A] = asyncio.get_running_loop().create_future()
        self._waiting.append((question, future))
        if self._work is None:
            self._work = asyncio.ensure_future(self._answer_all())
        return await future

    async def _answer_all(self) -> None:
        try:
            while self._waiting:
                batch = self._waiting[: self._max_batch]
                del self._waiting[: self._max_batch]
                await self._answer_batch(batch)
        finally:
            self._work = None

    async def _answer_batch(self, batch: list[tuple[Q, asyncio.Future[A]]]) -> None:
        try:
            async with asyncio.timeout(ANSWER_S):
                answers = await self._run(self._answer, [question for question, _ in batch])
        except (DatabaseError, TimeoutError) as error:
            # Those who came meanwhile would only wait as long again.
            for _, future in batch + self._waiting:
                _fail(future, DatabaseUnavailable(detail=repr(error), retry_after_s=1))
            self._waiting = []
        except Exception as error:
            log.exception("a query failed")
            for _, future in batch:
                _fail(future, GatewayError(detail=repr(error)))
        else:
            for (_, future), answer in zip(batch, answers, strict=True):
                if isinstance(answer, Exception):
                    _fail(future, answer)
                elif not future.done():
                    future.set_result(answer)


def _fail(future: asyncio.Future[A], error: Exception) -> None:
    if not future.done():
        future.set_exception(error)
