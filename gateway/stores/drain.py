"""Post journal records to the database: one batch, one transaction (docs/adr/0009).

The journal's position moves in the same transaction, on the condition that it still is where
this batch begins. So a batch lands once, whoever brings it and however often: the process itself,
the same process after a commit whose answer was lost, or the reaper.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain, islice
from operator import attrgetter
from typing import Protocol

from django.db import connection, transaction
from django.utils import timezone

from accounts import ledger
from gateway.journal.file import Position
from gateway.journal.record import Admitted, Damage, Entry, Refused, Settled
from gateway.stores.allotments import spend_allotments
from gateway.stores.inserts import Row
from gateway.stores.journal_faults import has_faults, keep_damage
from gateway.stores.kept_answers import keep_answers
from gateway.stores.process import is_drained_to, move_position
from gateway.stores.rollups import Rollups, quarters_of
from gateway.stores.rows import (
    COUNT_CALLS,
    END_CALL,
    INSERT_BODY,
    INSERT_CALLS,
    INSERT_PLAIN_CALLS,
    INSERT_REFUSED,
    Rows,
    alike,
    is_plain,
)
from gateway.stores.shortfall import cover, follow_losses

CHUNK = 500


class Fenced(Exception):
    """Another has ended this process in the ledger: it may not post any more."""


class Post(Protocol):
    """How a batch is written: apply, or gateway.stores.post_one_by_one.post_one_by_one."""

    def __call__(
        self, process_id: uuid.UUID, records: Sequence[Entry], /, *, source: str
    ) -> dict[str, int]: ...


def drain(
    process_id: uuid.UUID,
    records: Sequence[Entry],
    start: Position,
    end: Position,
    *,
    post: Post | None = None,
) -> dict[str, int]:
    """Post a batch of the process's own journal; return what apply does.

    start, end: the journal's positions before and behind the batch. A batch that has landed
    before changes nothing and returns the same.
    Raises Fenced when the process has been reaped, DatabaseError when nothing was written.
    """
    with transaction.atomic():
        if move_position(process_id, start, end):
            source = source_of(process_id, end)
            if start == end:  # records that the journal could not take
                source = f"{source}:{uuid.uuid4()}"
            return (post or apply)(process_id, records, source=source)
        if start == end or not is_drained_to(process_id, end):
            raise Fenced(str(process_id))
    return _charges([record for record in records if isinstance(record, Settled)])


def source_of(process_id: uuid.UUID, end: Position) -> str:
    """Return what makes the batch that ends here unique in the ledger."""
    return f"drain:{process_id}:{end.segment}:{end.offset}"


def apply(process_id: uuid.UUID, records: Sequence[Entry], *, source: str) -> dict[str, int]:
    """Write everything that the records say, inside the caller's transaction.

    A call ends once: a settled record of a call that has ended already, or was never admitted, is
    left out. Where the journal is damaged, one whose beginning is nowhere is posted by itself. What
    ended calls still owe is drawn from the wallets, as far as they cover it. What could not be read
    is noted as a fault.
    Returns, in nano-USD per workspace, what the process's purse had paid by itself.
    """
    rows = Rows(str(process_id))
    rollups = Rollups()
    admitted, settled, others = _sort(records)
    damages = [entry for entry in others if isinstance(entry, Damage)]
    refused = [entry for entry in others if isinstance(entry, Refused)]
    fresh: list[Settled] = []
    running: list[Settled] = []
    for call_id, record in settled.items():
        (fresh if admitted.pop(call_id, None) else running).append(record)
    running, unknown = _still_in_progress(rows, running)
    if unknown and (damages or has_faults(process_id)):
        fresh += unknown
    charges = _charges(fresh + running)
    losses: list[Settled] = []
    if any(record.owed_nusd for record in settled.values()):
        fresh, running, losses = cover_all(process_id, fresh, running)
    fresh.sort(key=attrgetter("identity.call_id"))
    groups = list(_grouped(fresh))
    for quarter, group in chain(groups, _grouped(running)):
        rollups.count(quarter, group)
    plain, inserts = ended_calls(rows, [group for _, group in groups])
    for refusal in refused:
        rollups.count_refused(refusal)
    for common, own in map(rows.of_admitted, admitted.values()):
        inserts[common].append(own)
    ended = fresh + running
    with connection.cursor() as cursor:
        INSERT_PLAIN_CALLS.run(cursor, plain)
        INSERT_CALLS.run(cursor, inserts)
        INSERT_REFUSED.run(cursor, listed(rows, refused))
        cursor.executemany(END_CALL, [rows.ending_of(record) for record in running])
        cursor.executemany(
            INSERT_BODY, [rows.of_body(record) for record in ended if record.request_body]
        )
        COUNT_CALLS.run(cursor, counted(rows, refused))
    keep_answers([record.kept for record in ended if record.kept])
    spends = rollups.spends()
    ledger.post_usage(process_id, spends, source=source, at=timezone.now())
    rollups.write_rollups()
    spend_allotments(process_id, spends)
    if damages:
        keep_damage(process_id, damages)
    if losses:
        follow_losses(losses)
    return charges


def cover_all(
    process_id: uuid.UUID, fresh: list[Settled], running: list[Settled]
) -> tuple[list[Settled], list[Settled], list[Settled]]:
    """Return both lists with nothing owed any more, and the records of which a part is lost."""
    losses: list[Settled] = []
    fresh = [cover(process_id, record, losses) for record in fresh]
    running = [cover(process_id, record, losses) for record in running]
    return fresh, running, losses


def ended_calls(
    rows: Rows, groups: Iterable[list[Settled]]
) -> tuple[dict[Row, list[Row]], dict[Row, list[Row]]]:
    """Return the rows of calls that have ended: those for INSERT_PLAIN_CALLS, and the others.

    groups: calls that are alike.
    """
    plain: dict[Row, list[Row]] = defaultdict(list)
    others: dict[Row, list[Row]] = defaultdict(list)
    for group in groups:
        common = rows.common_of(group[0])
        of_plain, of_others = plain[common], others[common]
        for record in group:
            if is_plain(record):
                of_plain.append(rows.plain_of(record))
            else:
                of_others.append(rows.own_of(record))
    return plain, others


def listed(rows: Rows, refused: Iterable[Refused]) -> dict[Row, list[Row]]:
    """Return the rows of refusals that have rows of their own."""
    groups: dict[Row, list[Row]] = defaultdict(list)
    for refusal in refused:
        if not refusal.counted:
            common, own = rows.of_refused(refusal)
            groups[common].append(own)
    return groups


def counted(rows: Rows, refused: Iterable[Refused]) -> dict[Row, list[Row]]:
    """Return the rows of refusals that are only counted, each once."""
    sums: dict[str, int] = defaultdict(int)
    firsts: dict[str, Refused] = {}
    for refusal in refused:
        if refusal.counted:
            sums[refusal.call_id] += refusal.counted
            firsts.setdefault(refusal.call_id, refusal)
    groups: dict[Row, list[Row]] = defaultdict(list)
    for call_id, refusal in firsts.items():
        common, own = rows.of_refused(refusal)
        groups[common].append((*own, sums[call_id]))
    return groups


def _sort(
    records: Sequence[Entry],
) -> tuple[dict[str, Admitted], dict[str, Settled], list[Refused | Damage]]:
    """Part the records by kind; the first of a call counts."""
    admitted: dict[str, Admitted] = {}
    settled: dict[str, Settled] = {}
    others: list[Refused | Damage] = []
    for record in records:
        if isinstance(record, Settled):
            settled.setdefault(record.identity.call_id, record)
        elif isinstance(record, Admitted):
            admitted.setdefault(record.identity.call_id, record)
        else:
            others.append(record)
    return admitted, settled, others


def _grouped(records: Sequence[Settled]) -> Iterable[tuple[int, list[Settled]]]:
    """Part ended calls into such as are alike and of one quarter of an hour; yield both."""
    groups: dict[tuple[int, Row], list[Settled]] = defaultdict(list)
    for quarter, like, record in zip(
        quarters_of(records), map(alike, records), records, strict=True
    ):
        groups[quarter, like].append(record)
    return ((quarter, group) for (quarter, _), group in groups.items())


def _still_in_progress(rows: Rows, records: list[Settled]) -> tuple[list[Settled], list[Settled]]:
    """Return those whose row, written by an earlier batch, is still waiting for its end, and those
    that have no row."""
    by_id = {rows.id_of(record.call_id): record for record in records}
    ids = iter(by_id)
    statuses: dict[object, str] = {}
    with connection.cursor() as cursor:
        while chunk := list(islice(ids, CHUNK)):
            marks = ", ".join(["%s"] * len(chunk))
            cursor.execute(
                f"SELECT id, status FROM gateway_callrecord WHERE id IN ({marks})",  # noqa: S608 (placeholders only)
                chunk,
            )
            statuses |= {_same(row[0]): row[1] for row in cursor.fetchall()}
    running = [record for id_, record in by_id.items() if statuses.get(id_) == "in_progress"]
    return running, [record for id_, record in by_id.items() if id_ not in statuses]


def _same(value: object) -> object:
    """Return an id as it was sent: PostgreSQL answers with a UUID."""
    return str(value)


def _charges(records: Sequence[Settled]) -> dict[str, int]:
    charges: dict[str, int] = {}
    for record in records:
        if paid_nusd := record.paid_nusd:
            workspace_id = record.identity.workspace_id
            charges[workspace_id] = charges.get(workspace_id, 0) + paid_nusd
    return charges
