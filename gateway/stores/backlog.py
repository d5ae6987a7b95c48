"""Records on their way from the journal to the database.

The event loop appends, the writer's thread drains. Memory is bounded: when the database is away
for long, records stay in the journal alone and are read back from there.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from contextlib import suppress
from itertools import islice
from typing import NamedTuple

from django.db import InterfaceError, OperationalError

from gateway.journal.file import SEGMENT_BYTES, JournalWriter, Position, read_records
from gateway.journal.record import Damage, Entry, Record, Refused
from gateway.stores.drain import Fenced, Post, apply, drain
from gateway.stores.post_one_by_one import cleaned, post_one_by_one
from gateway.stores.process_session import ProcessSession

log = logging.getLogger(__name__)

BATCH = 2_000
KEPT_IN_MEMORY = 50_000
RETRY_S = 0.25
# A call is let in only where its end will find room, and those of a thousand others.
ROOM_FOR_ENDS_BYTES = SEGMENT_BYTES // 4

# None: the journal could not take the record.
Item = tuple[Entry, Position | None]


class BacklogSize(NamedTuple):
    """size_bytes: in the journal. age_s: of the oldest record, at most. lag_s: how long those of
    the last batch had waited, at most."""

    records: int
    size_bytes: int
    age_s: float
    lag_s: float


class Backlog:
    """What one session of a process has recorded and not yet posted."""

    def __init__(self, session: ProcessSession) -> None:
        self._session = session
        self._new: deque[Item] = deque()
        self._batch: list[Item] = []
        self._unwritten: list[Item] = []
        self._shed_to: Position | None = None
        self._is_full = False
        self._trusted_from: int | None = None
        self._next_try_s = 0.0
        # How many records it was given.
        self.appended = 0
        # How many of them the database has. For the writer's thread, between two batches.
        self.posted = 0
        # All that was recorded before this moment is posted, on the monotonic clock.
        self._caught_up_at = time.monotonic()
        self._lag_s = 0.0

    @property
    def is_empty(self) -> bool:
        return not (self._new or self._batch or self._unwritten or self._shed_to)

    def append(self, record: Record) -> None:
        """Journal a record. Raises OSError when the disk takes no more, or has not kept others."""
        journal = self._session.journal
        if journal.failure is not None:
            raise journal.failure
        self._new.append((record, journal.append(record, ROOM_FOR_ENDS_BYTES)))
        self.appended += 1
        self._is_full = False

    def append_surely(self, record: Record, leave_bytes: int = 0) -> None:
        """Journal a record that must not be refused: keep it in memory if the disk is full."""
        position: Position | None = None
        try:
            position = self._session.journal.append(record, leave_bytes)
        except OSError as error:
            self._note_full(error)
        except (ValueError, OverflowError):
            record = cleaned(record)
            position = self._session.journal.append(record, leave_bytes)
        self._new.append((record, position))
        self.appended += 1

    def append_refusal(self, record: Refused) -> None:
        """Journal a refusal, leaving the room that calls need for their ends. While the disk is
        full, memory takes some of them."""
        is_short = self._is_full or self._session.journal.failure is not None
        if not is_short or len(self._new) < KEPT_IN_MEMORY:
            self.append_surely(record, ROOM_FOR_ENDS_BYTES)

    def drain(self) -> None:
        """Post the oldest records, at most BATCH of them.

        Raises OperationalError or InterfaceError when the database is away: the same records come
        again next time. Raises Fenced when this process may not post any more.
        """
        began_at, wanted = time.monotonic(), self.appended
        self._batch = self._batch or self._take()
        if not self._batch:
            self._caught_up_at = began_at
            return
        try:
            self._post(apply)
        except (OperationalError, InterfaceError, Fenced):
            self._shed()
            raise
        except Exception:
            log.exception("a batch of %s records does not post whole", len(self._batch))
            self._post(post_one_by_one)
        self.posted += _count(self._batch)
        self._batch = []
        self._lag_s = time.monotonic() - self._caught_up_at
        if self.posted >= wanted:
            self._caught_up_at = began_at

    def measure(self) -> BacklogSize:
        """Return how much there is to post, and for how long. For any thread."""
        session = self._session
        end, drained = session.journal.end, session.drained
        size = (end.segment - drained.segment) * SEGMENT_BYTES + end.offset - drained.offset
        age_s = 0.0 if self.is_empty else time.monotonic() - self._caught_up_at
        return BacklogSize(self.appended - self.posted, max(size, 0), age_s, self._lag_s)

    def unkept(self) -> list[str]:
        """Return the ids of calls of which a record is in memory alone, in no durable file."""
        durable = self._session.journal.synced
        items = (*self._batch, *self._unwritten, *self._new)
        records = (
            record
            for record, position in items
            if not isinstance(record, Damage) and (position is None or position > durable)
        )
        return list(dict.fromkeys(record.call_id for record in records))

    def end_doubt(self) -> None:
        """Find out what became of a batch that failed, by posting it again; raises as drain does.

        Until then nobody knows what is in the purses.
        """
        if self._batch:
            self.drain()

    def keep_durable(self) -> None:
        """Make the journal durable. For the thread that does only this, every few milliseconds.

        After an fsync has failed no call is admitted until the journal goes on in a new segment.
        """
        journal = self._session.journal
        try:
            journal.sync()
        except OSError as error:
            log.critical("no calls are admitted: the journal is not durable (%s)", error)
            self._next_try_s = time.monotonic() + RETRY_S
            return
        if journal.failure is None or time.monotonic() < self._next_try_s:
            return
        self._next_try_s = time.monotonic() + RETRY_S
        with suppress(OSError):  # while the disk refuses; that was logged when it began
            self._recover(journal)

    def _recover(self, journal: JournalWriter) -> None:
        """Admit calls again when a new segment is durable, and everything that the failed ones may
        have lost is in the database, posted from memory. Raises OSError without such a segment."""
        if self._trusted_from is None:
            journal.reopen()
            self._trusted_from = self.appended  # what comes from now on is in the new segment
        if self.posted >= self._trusted_from:
            self._trusted_from = None
            journal.trust()
            log.warning("calls are admitted again: the journal goes on in a new segment")

    def _note_full(self, error: OSError) -> None:
        """Log the beginning of it, not every record."""
        if not self._is_full:
            log.error("the journal accepts no more records: %s", error)
        self._is_full = True

    def _post(self, post: Post) -> None:
        session = self._session
        positions = (position for _, position in reversed(self._batch))
        end = next((position for position in positions if position is not None), session.drained)
        records = [record for record, _ in self._batch]
        charges = drain(session.process_id, records, session.drained, end, post=post)
        session.wallet_client.spend(charges)
        if end.segment != session.drained.segment:
            session.journal.delete_before(end.segment)
        session.drained = end

    def _take(self) -> list[Item]:
        if self._shed_to is not None:
            return self._read_back(self._shed_to)
        items, self._unwritten = self._unwritten, []
        # The event loop appends meanwhile; only this thread takes away.
        take_first = self._new.popleft
        items += [take_first() for _ in range(min(len(self._new), BATCH - len(items)))]
        return items

    def _read_back(self, until: Position) -> list[Item]:
        """Return the next records that only the journal has."""
        journal = self._session.journal
        reader = read_records(self._session.folder, self._session.drained, until)
        items: list[Item] = list(islice(reader, BATCH))
        for entry, _ in items:
            if isinstance(entry, Damage):
                journal.note_damage(entry.segment)
        if not items or items[-1][1] == until:
            self._shed_to = None
        return items

    def _shed(self) -> None:
        """Forget records that the journal has for sure, when there are too many of them."""
        journal = self._session.journal
        if len(self._new) < KEPT_IN_MEMORY or journal.failure is not None:
            return
        durable = journal.synced
        for _ in range(len(self._new)):
            record, position = self._new[0]
            if position is not None and position > durable:
                return
            self._new.popleft()
            if position is None:
                self._unwritten.append((record, None))
            else:
                self._shed_to = position


def _count(items: list[Item]) -> int:
    """Return how many records the items stand for."""
    return sum([entry.records if type(entry) is Damage else 1 for entry, _ in items])
