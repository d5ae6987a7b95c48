"""A server process's stores without its thread: time and work advance when a test says so.

Everything is the real code but three things: the thread (its steps are called), the clock of the
event loop (it is set), and the kernel's delivery of a SIGKILL (the object is dropped).
"""

from __future__ import annotations

import asyncio
import os
import time
import uuid
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

from django.db import OperationalError, connection
from django.utils import timezone

from accounts import ledger
from gateway.journal.file import Position
from gateway.models import ServingProcess
from gateway.stores.client import Client
from gateway.stores.feed import ChangeFeed, newest_change
from gateway.stores.process import Company
from gateway.stores.process_stores import ProcessStores
from gateway.stores.writer import Writer

T = TypeVar("T")


class SteppedLoop(asyncio.SelectorEventLoop):
    """An event loop that never waits: its clock stands still until it is moved."""

    def __init__(self) -> None:
        self.now_s = 1_000.0
        super().__init__()

    def time(self) -> float:
        return self.now_s

    def spin(self) -> None:
        """Run what is ready and due, and what that makes ready."""
        for _ in range(4):
            self.spin_once()

    def spin_once(self) -> None:
        """Run what is ready now, and not what that makes ready."""
        self.call_soon(self.stop)
        self.run_forever()


class SteppedWriter(Writer):
    """The writer without its threads."""

    def start(self, client: Client) -> None:
        self.steps.client = client
        self.steps.open()

    def stop(self) -> None:
        self.steps.finish()

    def run_step(self) -> bool:
        """Do one step with everything due but reaping; False when the database did not answer."""
        self.steps.next_drain = self.steps.next_beat = 0.0
        self.steps.next_reap = float("inf")
        try:
            self.steps.step(time.monotonic())
        except OperationalError:
            return False
        return True

    def sync(self) -> None:
        """Do what the thread does that keeps the journal durable."""
        self.backlog.keep_durable()

    @property
    def folder(self) -> Path:
        return self.steps.session.folder

    @property
    def drained(self) -> Position:
        return self.steps.session.drained

    @property
    def written(self) -> Position:
        return self.steps.session.journal.end

    def die(self) -> None:
        """What the kernel does for a killed process: its files are closed, its lock is gone."""
        self.steps.session.release_files()


class Branch:
    """One process: its stores, its writer, its place in the change feed."""

    def __init__(self, loop: SteppedLoop, home: Path, company: Company | None = None) -> None:
        self.loop = loop
        self.writer = SteppedWriter(home, company=company)
        self.stores = ProcessStores(self.writer)
        self.stores.start(loop)
        self.feed = ChangeFeed(lambda changes: None, after=newest_change())
        self.spin()

    def spin(self) -> None:
        self.loop.spin()

    def step(self) -> bool:
        """Let the writer work once and the loop hear of it."""
        worked = self.writer.run_step()
        self.spin()
        return worked

    def post_all(self) -> None:
        """Post every record there is. A batch whose commit was lost takes a step of its own."""
        self.step()
        while not (self.writer.backlog.is_empty or self.stores.credits.is_fenced):
            assert self.step()

    def sync(self) -> None:
        """Make the journal durable."""
        self.writer.sync()

    def hear(self) -> None:
        """Take in what the change feed has."""
        for kind, ref in self.feed.poll():
            if kind == "wallet":
                self.stores.credits.on_wallet_changed(as_text(ref))
            elif kind == "recall":
                self.stores.credits.on_recall(as_text(ref))
        self.spin()

    def stop(self) -> None:
        """Leave in good order."""
        self.stores.credits.close()
        self.writer.steps.finish()

    def die(self, *, tail: bytes = b"", cut_to: int | None = None) -> None:
        """Die without a word; leave a torn write behind, or lose the end of the journal."""
        folder = self.writer.folder
        self.writer.die()
        newest = max(folder.glob("*.journal"), default=None)
        if newest is None:  # a reaper has it already
            return
        if cut_to is not None:
            os.truncate(newest, cut_to)
        with newest.open("ab") as file:
            file.write(tail)


def drive(loop: SteppedLoop, work: Awaitable[T], branches: list[Branch]) -> T:
    """Run what is awaited to its end; the branches' writers work and time passes meanwhile."""
    task = asyncio.ensure_future(work, loop=loop)
    loop.spin()
    for _ in range(60):
        if task.done():
            break
        for branch in branches:
            branch.step()
            branch.hear()
        loop.now_s += 0.05
        loop.spin()
    return task.result()


async def outcome_of(work: Awaitable[T]) -> T | Exception:
    """Return what the work comes to, its failure included."""
    try:
        return await work
    except Exception as failure:
        return failure


@contextmanager
def locked_database() -> Iterator[None]:
    """Another connection holds the write lock; ours does not wait for it."""
    other = connection.copy()
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout = 0")
    with other.cursor() as cursor:
        cursor.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        with other.cursor() as cursor:
            cursor.execute("ROLLBACK")
        other.close()
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA busy_timeout = 20000")


@contextmanager
def lost_commit_reply() -> Iterator[None]:
    """The next commit happens, and its answer is lost on the way."""
    commit = connection._commit  # type: ignore[attr-defined]

    def commit_and_lose() -> None:
        commit()
        connection._commit = commit  # type: ignore[attr-defined]
        raise OperationalError("the connection was lost during COMMIT")

    connection._commit = commit_and_lose  # type: ignore[attr-defined]
    try:
        yield
    finally:
        connection._commit = commit  # type: ignore[attr-defined]


@contextmanager
def failing_ledger() -> Iterator[None]:
    """The database goes away in the middle of a batch, when its usage is posted."""
    real = ledger.post_usage

    def fail(*args: object, **options: object) -> None:
        raise OperationalError("the database went away")

    ledger.post_usage = fail
    try:
        yield
    finally:
        ledger.post_usage = real


def as_text(hexadecimal: str) -> str:
    return str(uuid.UUID(hexadecimal))


def end_lease(process: ServingProcess, *, ago_s: int) -> None:
    """Let the process not have been heard of since then."""
    lease = timezone.now() - timedelta(seconds=ago_s)
    ServingProcess.objects.filter(pk=process.pk).update(lease_until=lease)
