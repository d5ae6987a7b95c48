"""What running calls hold, and when the ledger was last proved. The ledger itself: accounts."""

from __future__ import annotations

import uuid

from django.db.models import Q, Sum

from gateway.models import CallRecord, LedgerCheck


def held_nusd(workspace_id: uuid.UUID) -> int:
    """Return what the calls in progress have set aside: it is spent or freed when they end."""
    # The second condition repeats the index's own, which SQLite needs to see to use it.
    running = CallRecord.objects.filter(
        ~Q(status="ok"), workspace_id=workspace_id, status=CallRecord.Status.IN_PROGRESS
    )
    return running.aggregate(total=Sum("hold_nusd"))["total"] or 0


def find_last_check() -> LedgerCheck | None:
    """Return the newest run of `prove`, or None before the first."""
    return LedgerCheck.objects.order_by("-id").first()


def find_last_full_check() -> LedgerCheck | None:
    """Return the newest run of `prove` that looked at every row, or None before the first."""
    return LedgerCheck.objects.filter(since=None).order_by("-id").first()
