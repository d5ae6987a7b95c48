"""Whether a provider answers, in words: by its last test and by the calls since."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from dashboard.calls.status_text import provider_error_words
from gateway.models import ProviderHealth
from gateway.providers.catalogue import SIMULATED
from gateway.selectors.catalogue import ProviderRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """badge: the class of the label. at: since when it fails, or when it last answered. reason: why
    it fails. tested_at, tested: the last test, and what came of it."""

    label: str
    badge: str
    is_failing: bool = False
    at: datetime | None = None
    reason: str = ""
    tested_at: datetime | None = None
    tested: str = ""


def connection_of(row: ProviderRow) -> Connection:
    """Return what is known. One that is switched off is off, whatever answers there."""
    health, is_on = row.health, row.provider.enabled
    if row.provider.kind == SIMULATED:
        return (
            Connection(label="Built in", badge="badge-ok")
            if is_on
            else Connection(label="Disabled", badge="")
        )
    if health is None:
        return (
            Connection(label="Untested", badge="badge-warn")
            if is_on
            else Connection(label="Disabled", badge="")
        )
    is_failing = health.failing_since is not None
    label, badge = ("Failing", "badge-bad") if is_failing else ("Reachable", "badge-ok")
    return Connection(
        label=label if is_on else "Disabled",
        badge=badge if is_on else "",
        is_failing=is_failing,
        at=health.failing_since or health.answered_at,
        reason=_reason(health) if is_failing else "",
        tested_at=health.tested_at,
        tested=health.test_message,
    )


def _reason(health: ProviderHealth) -> str:
    if health.failure == health.test_outcome:
        return health.test_message
    return f"Calls fail. {provider_error_words(health.failure)}"
