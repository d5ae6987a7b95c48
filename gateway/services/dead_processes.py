"""Which processes may be ended by somebody who does not see them."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from django.db.models.functions import Now

from gateway.models import ServingProcess

State = ServingProcess.State
# After the end of its lease: a process that was only cut off from the database may come back.
SILENT_FOR = timedelta(seconds=60)
_ENDED = {
    State.STOPPED: "stopped by itself",
    State.REAPED: "was settled by its own host, with its journal",
    State.ADOPTED: "was adopted before",
    State.LOST: "was declared lost",
}


def find_dead(process_id: UUID) -> ServingProcess:
    """Return the process. Raises ValueError when it has ended, or was heard of lately."""
    process = ServingProcess.objects.filter(pk=process_id).first()
    if process is None:
        raise ValueError(f"This database knows no process {process_id}.")
    if process.state != State.ALIVE:
        when = f" ({process.ended_at:%Y-%m-%d %H:%M} UTC)" if process.ended_at else ""
        how = _ENDED[State(process.state)]
        raise ValueError(f"Process {process_id} {how}{when}. There is nothing left to do.")
    now = ServingProcess.objects.filter(pk=process_id).values_list(Now()).get()[0]
    wait_s = (process.lease_until + SILENT_FOR - now).total_seconds()
    if wait_s > 0:
        raise ValueError(
            f"Process {process_id} on {process.host} was heard of at "
            f"{process.heartbeat_at:%Y-%m-%d %H:%M:%S} UTC and may be alive. Try again in "
            f"{wait_s:.0f} s, if it stays silent."
        )
    return process
