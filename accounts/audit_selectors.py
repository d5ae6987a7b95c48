"""Questions to the audit log. Reads only."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q, QuerySet

from accounts.models import AuditEvent, Workspace

EVENTS_PER_PAGE = 50
# A search looks at so many events and then says how far back it has looked.
EVENTS_SEARCHED = 5_000


@dataclass(frozen=True, slots=True)
class EventPage:
    """Some events, newest first. older: the id to page on from, None at the end. searched_to: set
    when a search had read its share before it found a page full; `older` goes on from there."""

    events: list[AuditEvent]
    older: int | None
    searched_to: datetime | None = None


def events_of(
    workspace: Workspace | None,
    *,
    query: str,
    before: int | None,
) -> EventPage:
    """Return a page of the events of a workspace; None: those that belong to no workspace.

    query: part of who did it, of what was done or of what it was done to, looked for in
    at most EVENTS_SEARCHED events.
    """
    events = AuditEvent.objects.filter(workspace=workspace).order_by("-id")
    if before is not None:
        events = events.filter(pk__lt=before)
    if query:
        return _search(events, query, EVENTS_SEARCHED)
    found = list(events[: EVENTS_PER_PAGE + 1])
    shown = found[:EVENTS_PER_PAGE]
    return EventPage(shown, shown[-1].pk if len(found) > EVENTS_PER_PAGE else None)


def _search(events: QuerySet[AuditEvent], query: str, most: int) -> EventPage:
    """Return the first page of what fits among the next so many events."""
    fitting = AuditEvent.objects.filter(
        Q(actor__icontains=query) | Q(action__icontains=query) | Q(target__icontains=query),
        pk__in=events.values("pk")[:most],
    ).order_by("-id")
    found = list(fitting[: EVENTS_PER_PAGE + 1])
    shown = found[:EVENTS_PER_PAGE]
    if len(found) > EVENTS_PER_PAGE:
        return EventPage(shown, shown[-1].pk)
    # A fixed offset: the last of those looked at, read from the index alone.
    edge = events[most - 1 : most].first()
    return EventPage(shown, edge.pk, edge.created_at) if edge else EventPage(shown, None)


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
