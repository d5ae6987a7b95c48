"""End dead server processes: replay their journals and return their purses, exactly once.

A process is dead when the kernel has released its lock (same host), or when its lease has expired
and stays expired while we watch. A process that could not reach the database, or a laptop that
slept, then has time to renew it. While the database keeps us waiting too, watching proves nothing.

Nobody ends a process without its journal: where other hosts use the database, one whose journal is
not in this home is left as it is, its calls open and its purses reserved (docs/adr/0059).
"""

from __future__ import annotations

import logging
import math
import shutil
import time
import uuid
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from pathlib import Path

from django.db import InterfaceError, OperationalError, transaction

from accounts import ledger
from accounts.changes import record_change
from accounts.models import ConfigChange
from gateway.core.call_identity import CallIdentity
from gateway.core.money import Price, Usage, format_usd
from gateway.core.receipt import Receipt
from gateway.journal.file import (
    DAMAGED_SUFFIX,
    Position,
    end_of,
    reaches,
    read_records,
    set_damaged_aside,
)
from gateway.journal.record import Damage, Entry, Record, Served, Settled
from gateway.models import CallRecord, ServingProcess
from gateway.stores.allotments import close_allotments
from gateway.stores.drain import apply, source_of
from gateway.stores.journal_faults import damaged_segments, note_missing
from gateway.stores.post_one_by_one import post_one_by_one
from gateway.stores.process import (
    claim_end,
    folder_of,
    is_here,
    is_locked,
    position_of,
    set_position,
)

log = logging.getLogger(__name__)

State = ServingProcess.State
# Longer than the time between two heartbeats, when we can see that the process exists.
WATCH_PRESENT_S = 12.0
WATCH_ABSENT_S = 5.0
# A database that was waited for longer may have kept the other process from it, too.
PROMPT_S = 0.5
BATCH = 2_000
ABORTED_CODE = "server_restarting"


@dataclass(frozen=True, slots=True)
class Reaped:
    """What was done for one dead process. Amounts are nano-USD."""

    process_id: uuid.UUID
    records: int
    aborted_calls: int
    returned_nusd: int


@dataclass(slots=True)
class Reaper:
    """Looks for dead processes and ends them. Keep it between looks: it remembers doubts."""

    watch_present_s: float = WATCH_PRESENT_S
    watch_absent_s: float = WATCH_ABSENT_S
    # Other homes use the database, and have the journals of their processes.
    journals_elsewhere: bool = False
    # How many dead processes there were at the last look whose journals are elsewhere.
    out_of_reach: int = 0
    _doubts: dict[uuid.UUID, tuple[datetime, float]] = field(default_factory=dict)

    def run(self) -> list[Reaped]:
        """End every process that is dead now; return what was done.

        Any number may run at once: each process is ended by one. Raises DatabaseError when the
        database does not answer; what was not ended then is found again.
        """
        try:
            silent = set(ServingProcess.silent().values_list("pk", flat=True))
            alive = list(ServingProcess.objects.filter(state=State.ALIVE).order_by("id"))
            self._doubts = {pk: doubt for pk, doubt in self._doubts.items() if pk in silent}
            here = [process for process in alive if self._is_within_reach(process)]
            self.out_of_reach = len(silent - {process.pk for process in here})
            ended = (self._end(process) for process in here if self._is_dead(process, silent))
            return [reaped for reaped in ended if reaped is not None]
        except (OperationalError, InterfaceError):
            self._doubts.clear()
            raise

    def _end(self, process: ServingProcess) -> Reaped | None:
        """End a process. One that is only silent is watched anew if the database was not prompt."""
        is_silent = self._doubts.pop(process.pk, None) is not None
        return _end_dead(process, within_s=PROMPT_S if is_silent else math.inf)

    def _is_within_reach(self, process: ServingProcess) -> bool:
        return not self.journals_elsewhere or folder_of(process).is_dir()

    def _is_dead(self, process: ServingProcess, silent: Set[uuid.UUID]) -> bool:
        folder = folder_of(process)
        present = is_here(process.host) and folder.exists()
        if present and not is_locked(folder):
            return True
        if process.pk not in silent:
            return False
        seen_until, since = self._doubts.get(process.pk, (None, 0.0))
        if seen_until != process.lease_until:
            self._doubts[process.pk] = (process.lease_until, time.monotonic())
            seen_until, since = self._doubts[process.pk]
        watch_s = self.watch_present_s if present else self.watch_absent_s
        return time.monotonic() - since >= watch_s


def _end_dead(process: ServingProcess, *, within_s: float) -> Reaped | None:
    try:
        return end_process(process, State.REAPED, within_s=within_s)
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        # The next process in the list must not wait for this one.
        log.exception("process %s cannot be ended", process.pk)
        return None


def end_process(
    process: ServingProcess, state: ServingProcess.State, *, within_s: float = math.inf
) -> Reaped | None:
    """End a process: post the rest of its journal, abort its running calls, return its purses.

    One transaction, on the condition that the process is alive as it was read: None when
    somebody else was first, or it has renewed its lease; also when the database let nobody
    write for longer than within_s.
    """
    folder = folder_of(process)
    asked_s = time.monotonic()
    with transaction.atomic():
        if time.monotonic() - asked_s > within_s:
            return None
        if not claim_end(process.pk, state, process.lease_until):
            return None
        # Read again: the position may have moved since the process was listed.
        process.refresh_from_db()
        start = position_of(process)
        if not folder.exists() or not reaches(folder, start):
            note_missing(process.pk, folder, start)
        end, reaped = replay(process.pk, folder, start)
        damaged = damaged_segments(process.pk)
    _clear_away(folder, end, damaged)
    if state == State.REAPED:
        log.warning(
            "Process %s ended without a stop. Posted from its journal: %s records. Calls that were "
            "running and are not charged: %s. Returned to wallets: %s USD.",
            *(reaped.process_id, reaped.records, reaped.aborted_calls),
            format_usd(reaped.returned_nusd),
        )
    return reaped


def replay(process_id: uuid.UUID, folder: Path, start: Position) -> tuple[Position, Reaped]:
    """Settle what an ended process has left, by its journal; return where that ends, and what was
    done. Inside the transaction that has claimed the process's end."""
    end, records = _post_journal(process_id, folder, start)
    reaped = settle(process_id, end, records)
    set_position(process_id, end)
    if records:
        record_change(ConfigChange.Kind.BUDGET)  # of whichever owners
    return end, reaped


def settle(process_id: uuid.UUID, end: Position, records: int = 0) -> Reaped:
    """Abort the calls of an ended process that are still open and return all that it has drawn."""
    aborted = _abort_running(process_id, end)
    returned_nusd = ledger.close_purses(process_id)
    close_allotments(process_id)
    return Reaped(process_id, records, aborted, returned_nusd)


def _post_journal(process_id: uuid.UUID, folder: Path, start: Position) -> tuple[Position, int]:
    """Post what the process had not drained; return where that ends, and how many records."""
    end, count = start, 0
    for entries, position in _batches(folder, start):
        _post(process_id, entries, source_of(process_id, position))
        end, count = position, count + sum(not isinstance(entry, Damage) for entry in entries)
    return end, count


def _post(process_id: uuid.UUID, records: list[Entry], source: str) -> None:
    try:
        with transaction.atomic():
            apply(process_id, records, source=source)
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        log.exception("a batch of %s records does not post whole", len(records))
        post_one_by_one(process_id, records, source=source)


def _batches(folder: Path, start: Position) -> Iterator[tuple[list[Entry], Position]]:
    reader = read_records(folder, start)
    while batch := list(islice(reader, BATCH)):
        yield [entry for entry, _ in batch], batch[-1][1]


def _abort_running(process_id: uuid.UUID, end: Position) -> int:
    """End the calls that died with the process: our fault, so they cost nothing."""
    running = CallRecord.objects.filter(process_id=process_id, status=CallRecord.Status.IN_PROGRESS)
    records: list[Record] = [_aborted(call) for call in running]
    if records:
        apply(process_id, records, source=f"{source_of(process_id, end)}:aborted")
    return len(records)


def _aborted(call: CallRecord) -> Settled:
    return Settled(
        identity=CallIdentity(
            call_id=str(call.pk),
            workspace_id=str(call.workspace_id),
            key_id=str(call.key_id),
            at=call.created_at.timestamp(),
            requested_model=call.requested_model,
            streamed=call.streamed,
            endpoint=call.endpoint or "",
            client_request_id=call.client_request_id,
            user=call.user,
            episode_id=str(call.episode_id or ""),
            ip=call.ip,
            profile=call.profile,
        ),
        receipt=Receipt(
            status=CallRecord.Status.PLATFORM_ABORTED.value,
            charge_basis=CallRecord.ChargeBasis.ZERO_PLATFORM.value,
            usage=Usage(),
        ),
        served=Served(
            model=call.model,
            provider=call.provider,
            native_model=call.native_model,
            price=Price(
                call.input_pusd_per_token,
                call.cached_input_pusd_per_token,
                call.output_pusd_per_token,
            ),
        ),
        hold_nusd=call.hold_nusd,
        http_status=503,
        error_code=ABORTED_CODE,
    )


def _clear_away(folder: Path, end: Position, damaged: Iterable[int]) -> None:
    """Remove a journal that is wholly in the database; keep what nobody could read of it."""
    if not folder.exists():
        return
    if end_of(folder) > end:
        log.error("journal %s is kept: its last record, behind %s, is torn", folder.name, end)
        return
    for segment in damaged:
        set_damaged_aside(folder, segment)
    if not any(folder.glob(f"*{DAMAGED_SUFFIX}")):
        shutil.rmtree(folder, ignore_errors=True)
        return
    log.error("journal %s: its damaged segments are kept", folder.name)
    for path in folder.iterdir():
        if path.suffix != DAMAGED_SUFFIX:
            path.unlink()
