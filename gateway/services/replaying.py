"""Settle what the processes of a restored database had not posted."""

from __future__ import annotations

from typing import NamedTuple

from gateway.models import ServingProcess
from gateway.stores.process import folder_of
from gateway.stores.reaping import end_process


class Replayed(NamedTuple):
    """processes: how many were ended. records: those that only their journals had. aborted_calls:
    calls that were running."""

    processes: int = 0
    records: int = 0
    aborted_calls: int = 0


def replay_journals() -> Replayed:
    """End every process whose journal is in this home. None may be running.

    Those of other hosts are left to the journals there. Raises DatabaseError.
    """
    total = Replayed()
    alive = ServingProcess.objects.filter(state=ServingProcess.State.ALIVE).order_by("id")
    for process in alive:
        if not folder_of(process).is_dir():
            continue
        reaped = end_process(process, ServingProcess.State.REAPED)
        if reaped is not None:
            total = Replayed(
                total.processes + 1,
                total.records + reaped.records,
                total.aborted_calls + reaped.aborted_calls,
            )
    return total
