"""Questions to the audit book. Reads only."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Q

from accounts.models import AuditEvent, Workspace

EVENTS_PER_PAGE = 50


@dataclass(frozen=True, slots=True)
class EventPage:
    """Some events, newest first. older: the id to page on from, None at the end."""

    events: list[AuditEvent]
    older: int | None


def events_of(workspace: Workspace | None, *, query: str, before: int | None) -> EventPage:
    """Return a page of the events of a workspace; None: those that belong to no workspace.

    query: part of who did it, of what was done or of what it was done to.
    """
    events = AuditEvent.objects.filter(workspace=workspace).order_by("-id")
    if query:
        events = events.filter(
            Q(actor__icontains=query) | Q(action__icontains=query) | Q(target__icontains=query)
        )
    if before is not None:
        events = events.filter(pk__lt=before)
    found = list(events[: EVENTS_PER_PAGE + 1])
    shown = found[:EVENTS_PER_PAGE]
    return EventPage(shown, shown[-1].pk if len(found) > EVENTS_PER_PAGE else None)


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
