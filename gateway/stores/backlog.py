"""Records on their way from the journal to the database.

The event loop appends, the writer's thread drains. Memory is bounded: when the database is away
for long, records stay in the journal alone and are read back from there.
"""

from __future__ import annotations

import logging
from collections import deque
from itertools import takewhile
from typing import Any

import msgspec
from django.db import InterfaceError, OperationalError

from gateway.journal.file import Position, read_records
from gateway.journal.record import Record, Settled
from gateway.stores.drain import Fenced, drain
from gateway.stores.life import Life

log = logging.getLogger(__name__)

BATCH = 2_000
KEPT_IN_MEMORY = 50_000
MAX_INTEGER = 2**63 - 1

# None: the journal could not take the record.
Item = tuple[Record, Position | None]


class Backlog:
    """What one life of a process has recorded and not yet posted."""

    def __init__(self, life: Life) -> None:
        self._life = life
        self._new: deque[Item] = deque()
        self._batch: list[Item] = []
        self._unwritten: list[Item] = []
        self._shed_to: Position | None = None

    @property
    def is_empty(self) -> bool:
        return not (self._new or self._batch or self._unwritten or self._shed_to)

    def append(self, record: Record) -> None:
        """Journal a record. Raises OSError when the disk does not take it."""
        self._new.append((record, self._life.journal.append(record)))

    def append_surely(self, record: Record) -> None:
        """Journal a record that must not be refused: keep it in memory if the disk is full."""
        position: Position | None = None
        try:
            position = self._life.journal.append(record)
        except OSError:
            log.exception("the journal did not take %s", record.call_id)
        except (ValueError, OverflowError):
            record = cleaned(record)
            position = self._life.journal.append(record)
        self._new.append((record, position))

    def drain(self) -> None:
        """Post the oldest records, at most BATCH of them.

        Raises OperationalError or InterfaceError when the database is away: the same records come
        again next time. Raises Fenced when this process may not post any more.
        """
        self._batch = self._batch or self._take()
        if not self._batch:
            return
        try:
            self._post(self._batch)
        except (OperationalError, InterfaceError, Fenced):
            self._shed()
            raise
        except Exception:
            log.exception("a batch of %s records does not post whole", len(self._batch))
            self._post_one_by_one()
        self._batch = []

    def _post(self, items: list[Item]) -> None:
        life = self._life
        positions = [position for _, position in items if position is not None]
        end = positions[-1] if positions else life.drained
        charges = drain(life.process_id, [record for record, _ in items], life.drained, end)
        life.teller.spend(charges)
        if end.segment != life.drained.segment:
            life.journal.delete_before(end.segment)
        life.drained = end

    def _post_one_by_one(self) -> None:
        """Find the record that the database refuses, and go on without its charge or without it.

        Raises as drain does; what has been posted until then is not posted again.
        """
        while self._batch:
            record, position = self._batch[0]
            for attempt in (record, _uncharged(record), None):
                try:
                    self._post_single(attempt, position)
                    break
                except (OperationalError, InterfaceError, Fenced):
                    raise
                except Exception:
                    log.critical("call %s does not post as it is", record.call_id, exc_info=True)
            self._batch.pop(0)

    def _post_single(self, record: Record | None, position: Position | None) -> None:
        if record is not None:
            self._post([(record, position)])
        elif position is not None:
            life = self._life
            drain(life.process_id, [], life.drained, position)
            life.drained = position

    def _take(self) -> list[Item]:
        if self._shed_to is not None:
            return self._read_back(self._shed_to)
        items, self._unwritten = self._unwritten, []
        while self._new and len(items) < BATCH:
            items.append(self._new.popleft())
        return items

    def _read_back(self, until: Position) -> list[Item]:
        """Return the next records that only the journal has."""
        reader = read_records(self._life.folder, self._life.drained)
        shed = takewhile(lambda item: item[1] <= until, reader)
        items: list[Item] = [item for item, _ in zip(shed, range(BATCH), strict=False)]
        if not items or items[-1][1] == until:
            self._shed_to = None
        return items

    def _shed(self) -> None:
        """Forget records that the journal has, when there are too many of them."""
        if len(self._new) < KEPT_IN_MEMORY:
            return
        for _ in range(len(self._new)):
            record, position = self._new.popleft()
            if position is None:
                self._unwritten.append((record, None))
            else:
                self._shed_to = position


def cleaned(record: Record) -> Record:
    """Return the record with only such text and numbers as any database takes."""
    fields = msgspec.structs.asdict(record)
    return type(record)(**{name: _clean(value) for name, value in fields.items()})


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode().replace("\x00", "")
    if isinstance(value, int) and not isinstance(value, bool):
        return max(0, min(value, MAX_INTEGER))
    return value


def _uncharged(record: Record) -> Record:
    """Return the record as one that costs the caller nothing, because we could not post it."""
    plain = cleaned(record)
    if not isinstance(plain, Settled):
        return plain
    return msgspec.structs.replace(
        plain,
        charge_nusd=0,
        absorbed_nusd=plain.absorbed_nusd + plain.charge_nusd,
        charge_basis="zero_platform",
    )
