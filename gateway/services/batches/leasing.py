"""One worker of all hosts works on a batch at a time. The moments are the database's."""

from __future__ import annotations

import secrets
from datetime import timedelta
from hashlib import sha256
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.db.models.functions import Now

from gateway.models import Batch
from gateway.services.leases import own_name

# Another worker goes on with the batch so long after the last renewal.
HELD_FOR = timedelta(seconds=30)
RENEW_EVERY_S = 5.0


class LeaseLost(Exception):
    """Another worker has the batch: what this one found out is not to be written down."""


class BatchLease:
    """The right to work on one batch."""

    def __init__(self, batch_id: UUID, owner: str) -> None:
        self._batch_id = batch_id
        self._owner = owner

    def renew(self) -> None:
        """Raises LeaseLost."""
        self.update(lease_ends_at=Now() + HELD_FOR)

    def update(self, **fields: Any) -> None:
        """Change the batch. Raises LeaseLost."""
        rows = Batch.objects.filter(pk=self._batch_id, lease_owner=self._owner)
        if not rows.update(**fields):
            raise LeaseLost

    def release(self) -> None:
        rows = Batch.objects.filter(pk=self._batch_id, lease_owner=self._owner)
        rows.update(lease_owner="", lease_ends_at=None, worked_at=Now())


def take_next() -> tuple[Batch, BatchLease] | None:
    """Return the batch that has waited longest of those that can be worked on, and the lease on
    it; None where there is none."""
    is_free = Q(lease_ends_at=None) | Q(lease_ends_at__lt=Now())
    is_due = Q(not_before=None) | Q(not_before__lt=Now()) | Q(expires_at__lt=Now())
    rows = Batch.objects.filter(is_free, is_due, ended_at=None)
    for batch_id in rows.order_by("worked_at", "id").values_list("id", flat=True)[:20]:
        owner = f"{_host()}-{secrets.token_hex(16)}"
        taken = Batch.objects.filter(is_free, pk=batch_id, ended_at=None).update(
            lease_owner=owner, lease_ends_at=Now() + HELD_FOR, worked_at=Now()
        )
        if taken:
            return Batch.objects.get(pk=batch_id), BatchLease(batch_id, owner)
    return None


def free_own() -> None:
    """Free what this host's worker had when it was killed: one runs for each home, and a lease that
    is not ours any more is noticed by who has it."""
    own = Batch.objects.filter(lease_owner__startswith=f"{_host()}-", ended_at=None)
    own.update(lease_owner="", lease_ends_at=None)


def _host() -> str:
    return sha256(own_name().encode()).hexdigest()[:16]
