"""What the page of the audit log shows of each event."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from accounts.models import AuditEvent, Workspace
from dashboard.audit.event_text import changes_of, words_of
from dashboard.http.page_urls import page_address
from dashboard.http.query_params import read_id
from dashboard.keys.labels import key_labels

_KINDS = {
    "installation": "Installation",
    "workspace": "Workspace",
    "user": "User",
    "member": "Member",
    "invitation": "Invitation",
    "key": "Key",
    "credits": "Credits",
    "batch": "Batch",
    "model": "Model",
    "provider": "Provider",
    "price_list": "Price list",
    "processor": "Processor",
    "processor_service": "Service",
    "tool": "Tool",
    "file": "File",
    "storage": "Storage",
    "journal": "Journal",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLine:
    """One event. subject: what it was done to, as people know it; url: its page, or empty."""

    event: AuditEvent
    kind: str
    words: str
    changes: str
    subject: str
    url: str


def audit_lines(events: Sequence[AuditEvent], workspace: Workspace | None) -> list[AuditLine]:
    ids = {event.target: read_id(event.target) for event in events if _noun(event) == "key"}
    labels = key_labels(workspace.pk, filter(None, ids.values())) if workspace else {}
    return [_line(event, labels, ids.get(event.target), workspace) for event in events]


def _line(
    event: AuditEvent,
    labels: dict[UUID, str],
    key_id: UUID | None,
    workspace: Workspace | None,
) -> AuditLine:
    noun, subject, url = _noun(event), event.target, ""
    if workspace and noun == "key" and key_id in labels:
        subject, url = labels[key_id], page_address(workspace, "key-edit", key_id)
    elif noun == "credits" and workspace:
        subject, url = "Balance", page_address(workspace, "credits")
    return AuditLine(
        event=event,
        kind=_KINDS.get(noun, noun),
        words=words_of(event),
        changes=changes_of(event),
        subject=subject,
        url=url,
    )


def _noun(event: AuditEvent) -> str:
    return event.action.partition(".")[0]
