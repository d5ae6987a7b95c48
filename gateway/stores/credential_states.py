"""What processes tell operators about the credentials that they use."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from django.utils import timezone

from gateway.models import ProviderCredential

MESSAGE_CHARS = 300


def keep_credential_state(credential_id: str, rest_s: float, code: str, message: str) -> None:
    """Keep that a credential rests for so long because of an error; without one, that it serves."""
    now = timezone.now()
    changes: dict[str, object] = {
        "failure": code,
        "failure_message": message[:MESSAGE_CHARS],
        "rests_until": now + timedelta(seconds=rest_s) if rest_s else None,
    }
    if code:
        changes["failed_at"] = now
    ProviderCredential.objects.filter(pk=UUID(credential_id)).update(**changes)
