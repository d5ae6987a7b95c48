"""Processes that count limits in their own memory serve alone.

Two of them would each allow what the limits allow in all. Other processes of the database are known
by their rows, whichever host or home they have. One whose lease is over is not in the way; it is
marked as overtaken, so that it admits no calls if it was only cut off (docs/adr/0059).
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable
from datetime import datetime

from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from gateway.database.lock import SERVING, lock_for_transaction
from gateway.launch.failure import CannotStart
from gateway.models import ServingProcess

log = logging.getLogger(__name__)

LOOK_EVERY_S = 0.5
# Longer than a lease: by then a process that died has lost it.
WAIT_S = 45.0


def wait_for_others(*, counts_alone: bool, end_dead: Callable[[], object]) -> None:
    """Return when no other process is in the way of this one. Blocking.

    One that died without a word is waited for until its lease is over. end_dead: ends dead
    processes in the database. Raises CannotStart when another shows that it lives.
    """
    seen: dict[uuid.UUID, datetime] = {}
    ends_s = time.monotonic() + WAIT_S
    while others := list(_in_the_way(counts_alone=counts_alone)):
        for other in others:
            is_new = other.pk not in seen
            if seen.setdefault(other.pk, other.heartbeat_at) != other.heartbeat_at:
                raise refusal(other)
            if is_new:
                log.warning("Waiting to see whether process %s still serves this database.", other)
        if time.monotonic() > ends_s:
            raise refusal(others[0])
        time.sleep(LOOK_EVERY_S)
        end_dead()


def refuse_company(*, counts_alone: bool) -> None:
    """Keep others from entering until the transaction ends, and overtake those whose lease is over.
    Raises CannotStart when one is in the way of this process."""
    lock_for_transaction(SERVING)
    other = _in_the_way(counts_alone=counts_alone).first()
    if other is not None:
        raise refusal(other)
    _unfit(counts_alone=counts_alone).filter(lease_until__lt=Now()).update(overtaken=True)


def refusal(other: ServingProcess) -> CannotStart:
    return CannotStart(
        f"Process {other.pid} on {other.host} serves this database. Without Redis only one process "
        "can. Stop it first, or set REDIS_URL for all of them."
    )


def _in_the_way(*, counts_alone: bool) -> QuerySet[ServingProcess]:
    """Return the live processes that this one may not serve beside."""
    return _unfit(counts_alone=counts_alone).filter(lease_until__gte=Now())


def _unfit(*, counts_alone: bool) -> QuerySet[ServingProcess]:
    """Return the processes that may not serve beside this one, live ones or not."""
    alive = Q(state=ServingProcess.State.ALIVE, overtaken=False)
    return ServingProcess.objects.filter(alive, *(() if counts_alone else (Q(counts_alone=True),)))
