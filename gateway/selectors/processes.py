"""Server processes of all hosts, and what the dead ones among them keep until their journals are
replayed. All amounts are nano-USD."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Count, QuerySet, Sum

from accounts.models import Purse
from gateway.core.json_types import JsonObject
from gateway.models import Allotment, CallRecord, JournalLoss, ServingProcess

MAX_LOSSES_SHOWN = 100
NOTHING = (0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessRow:
    """A process that has not ended in the database.

    open_calls, held_nusd: calls that have not ended there, and what they hold. reserved_nusd: in
    its purses, the held included. budgets_nusd: of budgets of keys, members and workspaces, each
    counted by itself.
    """

    process: ServingProcess
    is_silent: bool
    open_calls: int
    held_nusd: int
    reserved_nusd: int
    budgets_nusd: int

    def as_json(self) -> JsonObject:
        process = self.process
        return {
            "process_id": str(process.pk),
            "host": process.host,
            "home": process.home,
            "pid": process.pid,
            "started_at": process.started_at.isoformat(),
            "silent_since": process.heartbeat_at.isoformat() if self.is_silent else None,
            "open_calls": self.open_calls,
            "held_nusd": self.held_nusd,
            "reserved_nusd": self.reserved_nusd,
            "budgets_nusd": self.budgets_nusd,
        }


def process_rows() -> list[ProcessRow]:
    """Return all that have not ended, the dead ones first, then the oldest."""
    alive = ServingProcess.objects.filter(state=ServingProcess.State.ALIVE)
    rows = _rows(list(alive.order_by("started_at")))
    return sorted(rows, key=lambda row: not row.is_silent)


def silent_processes() -> list[ProcessRow]:
    """Return those whose lease is over and whose journals nobody has replayed yet.

    Dead processes of a home that serves are among them for the seconds until it replays them.
    """
    return _rows(list(ServingProcess.silent().order_by("started_at")))


def count_silent_processes() -> int:
    return ServingProcess.silent().count()


def row_of(process: ServingProcess) -> ProcessRow:
    [row] = _rows([process])
    return row


def journal_losses() -> list[JournalLoss]:
    """Return the newest of the journals that were declared lost."""
    return list(JournalLoss.objects.order_by("-declared_at")[:MAX_LOSSES_SHOWN])


def describe_losses() -> list[JsonObject]:
    names = [field.name for field in JournalLoss._meta.concrete_fields]
    rows = [{name: getattr(loss, name) for name in names} for loss in journal_losses()]
    for row in rows:
        row["process_id"] = str(row["process_id"])
        for name in ("declared_at", "returned_at"):
            row[name] = row[name] and row[name].isoformat()
    return rows


def _rows(processes: Sequence[ServingProcess]) -> list[ProcessRow]:
    ids = [process.pk for process in processes]
    of_processes = {"process_id__in": ids}
    running = CallRecord.objects.filter(**of_processes, status=CallRecord.Status.IN_PROGRESS)
    counts = running.values_list("process_id").annotate(calls=Count("id"), held=Sum("hold_nusd"))
    calls = {process_id: (count, held_nusd) for process_id, count, held_nusd in counts}
    purses = _sums(Purse.objects.filter(**of_processes))
    budgets = _sums(Allotment.objects.filter(**of_processes))
    silent = set(ServingProcess.silent().filter(pk__in=ids).values_list("pk", flat=True))
    return [
        ProcessRow(
            process=process,
            is_silent=process.pk in silent,
            open_calls=calls.get(process.pk, NOTHING)[0],
            held_nusd=calls.get(process.pk, NOTHING)[1],
            reserved_nusd=purses.get(process.pk, 0),
            budgets_nusd=budgets.get(process.pk, 0),
        )
        for process in processes
    ]


def _sums(found: QuerySet[Purse] | QuerySet[Allotment]) -> dict[UUID, int]:
    sums = found.values_list("process_id").annotate(total=Sum("amount_nusd"))
    return dict(sums.order_by())
