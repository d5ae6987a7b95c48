"""What has been done to one thing, in words: the card beside its form."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from accounts.models import AuditEvent
from dashboard.audit.event_text import words_of

SHOWN = 8


@dataclass(frozen=True, slots=True)
class Line:
    """One change: what, by whom, when."""

    words: str
    actor: str
    at: datetime


def history(events: Iterable[AuditEvent]) -> list[Line]:
    return [Line(_words(event), event.actor, event.created_at) for event in events]


def _words(event: AuditEvent) -> str:
    """Return what was done; of one of several credentials, which."""
    name = event.details.get("credential_name")
    return f"{words_of(event)}: {name}" if name else words_of(event)
