"""Questions to the audit book. Reads only."""

from __future__ import annotations

from accounts.models import AuditEvent, Workspace


def history_of(workspace: Workspace, target: str, *, limit: int) -> list[AuditEvent]:
    """Return the newest changes of one thing, newest first."""
    return list(
        AuditEvent.objects.filter(workspace=workspace, target=target).order_by("-id")[:limit]
    )


def installation_history_of(noun: str, target: str, *, limit: int) -> list[AuditEvent]:
    """The same for what belongs to no workspace. noun: what its actions begin with (`model`)."""
    events = AuditEvent.objects.filter(
        workspace=None, target=target[:200], action__startswith=f"{noun}."
    )
    return list(events.order_by("-id")[:limit])
