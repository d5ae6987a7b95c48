"""An operator declares that the journal of a dead process is lost: what then is stated and booked.

Its open calls end as platform_aborted and cost the caller nothing. What they have cost at the
providers is not known. At most it is what the process had reserved, which is recorded as our loss.
"""

from __future__ import annotations

import logging
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from accounts.changes import record_audit
from gateway.core.money import format_usd
from gateway.journal.file import segments_in
from gateway.models import JournalFault, JournalLoss, ServingProcess
from gateway.selectors.processes import ProcessRow, row_of
from gateway.services.dead_processes import find_dead
from gateway.stores.process import claim_end, folder_of, position_of
from gateway.stores.reaping import settle

log = logging.getLogger(__name__)


def find_worst_case(process_id: UUID) -> ProcessRow:
    """Return what declaring its journal lost would mean. Raises ValueError where that cannot be
    done: it may be alive, has ended, or its journal is here."""
    process = find_dead(process_id)
    folder = folder_of(process)
    if folder.is_dir() and segments_in(folder):
        raise ValueError(
            f"The journal of process {process_id} is not lost: {folder}. A server that runs here "
            "replays it."
        )
    return row_of(process)


@transaction.atomic
def declare_lost(process_id: UUID, *, actor: str) -> JournalLoss:
    """End the process without its journal. Raises ValueError as find_worst_case does."""
    row = find_worst_case(process_id)
    process = row.process
    position = position_of(process)
    if not claim_end(process_id, ServingProcess.State.LOST, process.lease_until):
        raise ValueError(f"Process {process_id} has ended, or is alive again.")
    row = row_of(process)  # once more: nobody can change it any more
    settle(process_id, position)
    loss = JournalLoss.objects.create(
        process_id=process_id,
        host=process.host,
        home=process.home,
        declared_at=timezone.now(),
        declared_by=actor[:254],
        open_calls=row.open_calls,
        held_nusd=row.held_nusd,
        reserved_nusd=row.reserved_nusd,
    )
    JournalFault.objects.create(
        kind=JournalFault.Kind.LOST,
        process_id=process_id,
        segment=position.segment,
        start_byte=position.offset,
        records=row.open_calls,
        reason=(
            f"Declared lost by {actor}. {row.open_calls} open calls ended without a charge. They "
            "and calls that only the journal had cost at most "
            f"{format_usd(row.reserved_nusd)} USD."
        )[:500],
        found_at=timezone.now(),
    )
    record_audit(
        actor=actor,
        action="journal.declare_lost",
        target=f"{process.host}:{process.pid}",
        details={
            "process": str(process_id),
            "open_calls": row.open_calls,
            "held_nusd": row.held_nusd,
            "reserved_nusd": row.reserved_nusd,
        },
    )
    log.error("the journal of process %s was declared lost by %s", process, actor)
    return loss
