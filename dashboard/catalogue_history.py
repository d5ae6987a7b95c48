"""What has been done to a model or a provider, in words."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from accounts.audit_selectors import installation_history_of
from accounts.models import AuditEvent

SHOWN = 8
_DONE = {
    "add": "Added",
    "add_target": "Got another target",
    "set_prices": "Changed prices",
    "enable": "Switched on",
    "disable": "Switched off",
    "set_credential": "Replaced the credential",
    "set_base_url": "Moved to another address",
}
# Fields that forms call by another name.
_CALLED = {
    "default_system_prompt": "default prompt",
    "template_render_mode": "names in braces",
    "allows_passthrough": "calls may name it",
    "is_local": "own premises",
    "owned_by": "made by",
    "aliases": "other names",
}


@dataclass(frozen=True, slots=True)
class Line:
    """One change: what, by whom, when."""

    words: str
    actor: str
    at: datetime


def catalogue_history(noun: str, name: str) -> list[Line]:
    """Return the newest changes. noun: model or provider."""
    events = installation_history_of(noun, name, limit=SHOWN)
    return [Line(_words(event), event.actor, event.created_at) for event in events]


def _words(event: AuditEvent) -> str:
    action = event.action.partition(".")[2]
    if action == "update":
        return f"Changed {', '.join(map(_called, event.details))}"
    return _DONE.get(action, event.action)


def _called(field: str) -> str:
    return _CALLED.get(field) or field.removeprefix("supports_").replace("_", " ")
