"""Work that one program of all hosts does, chosen by a row with an owner and an end.

The moments are the database's: hosts need not agree about the time.
"""

from __future__ import annotations

import socket
from datetime import timedelta

from django.conf import settings
from django.db.models import Q
from django.db.models.functions import Now

from gateway.models import Lease

# Proofs, totals and pruning.
BACKGROUND = "background"
# Renewed every ten seconds; another host goes on with the work a minute after the last time.
HELD_FOR = timedelta(seconds=60)


def hold_lease(name: str = BACKGROUND, *, owner: str = "") -> bool:
    """Take the lease, or renew it; False while another has it.

    owner: by default this host and home, of which one background worker runs: started again, it
    goes on at once.
    """
    owner = owner or own_name()
    free = Q(owner=owner) | Q(expires_at__lt=Now())
    taken = Lease.objects.filter(free, name=name).update(owner=owner, expires_at=Now() + HELD_FOR)
    if taken or Lease.objects.filter(name=name).exists():
        return bool(taken)
    Lease.objects.bulk_create(
        [Lease(name=name, owner=owner, expires_at=Now() + HELD_FOR)], ignore_conflicts=True
    )
    return Lease.objects.filter(name=name, owner=owner).exists()


def release_lease(name: str = BACKGROUND, *, owner: str = "") -> None:
    """Let another take the lease at once."""
    Lease.objects.filter(name=name, owner=owner or own_name()).delete()


def own_name() -> str:
    return f"{socket.gethostname()}:{settings.HOME}"[:500]
