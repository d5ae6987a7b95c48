"""Questions to the audit book. Reads only."""

from __future__ import annotations

from accounts.models import AuditEvent, Workspace


def history_of(workspace: Workspace, target: str, *, limit: int) -> list[AuditEvent]:
    """Return the newest changes of one thing, newest first."""
    return list(
        AuditEvent.objects.filter(workspace=workspace, target=target).order_by("-id")[:limit]
    )
