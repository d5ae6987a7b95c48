"""What journals had that is not in the books as it should be."""

from __future__ import annotations

from typing import Any

from gateway.models import JournalFault

MOST_TOLD = 100


def count_journal_faults() -> int:
    """Return how many faults are noted."""
    return JournalFault.objects.count()


def describe_journal_faults() -> list[dict[str, Any]]:
    """Return the newest faults, oldest first, at most MOST_TOLD of them.

    Keys: id, kind, process_id, call_id, segment, start_byte, end_byte, records, reason, file,
    found_at (ISO 8601).
    """
    names = [field.name for field in JournalFault._meta.concrete_fields]
    rows = list(JournalFault.objects.order_by("-id").values(*names)[:MOST_TOLD])
    for row in rows:
        row["process_id"] = str(row["process_id"])
        row["found_at"] = row["found_at"].isoformat()
    return rows[::-1]
