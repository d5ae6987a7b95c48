"""What journals had that is not in the ledger as it should be."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from gateway.core.json_types import JsonObject
from gateway.models import JournalFault

MAX_FAULTS_SHOWN = 1_000


def count_journal_faults(*, days: int | None = None) -> int:
    """Return how many faults were found, in the last days if so many are named."""
    faults = JournalFault.objects.all()
    if days is not None:
        faults = faults.filter(found_at__gte=timezone.now() - timedelta(days=days))
    return faults.count()


def describe_journal_faults() -> list[JsonObject]:
    """Return the newest faults, oldest first, at most MAX_FAULTS_SHOWN of them.

    Keys: id, kind, process_id, call_id, segment, start_byte, end_byte, records, reason, file,
    found_at (ISO 8601).
    """
    names = [field.name for field in JournalFault._meta.concrete_fields]
    rows = list(JournalFault.objects.order_by("-id").values(*names)[:MAX_FAULTS_SHOWN])
    for row in rows:
        row["process_id"] = str(row["process_id"])
        row["found_at"] = row["found_at"].isoformat()
    return rows[::-1]
