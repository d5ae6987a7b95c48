"""Rotate keys: a new secret at once, while the old one works on for as long as programs need."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from accounts.changes import record_audit, record_changes
from accounts.models import ConfigChange
from keys.models import ApiKey, RetiredSecret
from keys.prefixes import offered_prefixes, prefix_for
from keys.secret import keep_secret, new_secret
from keys.services import IssuedKey

MAX_OVERLAP = timedelta(days=7)


def rotate_key(key: ApiKey, *, overlap: timedelta, actor: str) -> IssuedKey:
    """Give a key a new secret and return it with the key, whose rules and expiry stay.

    overlap: how long the old secret works beside the new one; secrets from before that end then,
    too. Raises ValidationError where it is not from 0 to 7 days, for a key that is revoked or has
    expired, and when the key was rotated at the same moment.
    """
    if not timedelta(0) <= overlap <= MAX_OVERLAP:
        raise ValidationError({"overlap": "The overlap must be from 0 to 7 days."})
    now = timezone.now()
    with transaction.atomic():
        stored = ApiKey.objects.select_related("workspace").get(pk=key.pk)
        if not stored.is_usable:
            raise ValidationError("A key that is revoked or has expired cannot be rotated.")
        secret, changes = _new_secret_of(stored)
        current = ApiKey.objects.filter(pk=key.pk, digest=stored.digest, revoked_at=None)
        if not current.update(rotated_at=now, **changes):
            raise ValidationError("Someone else rotated or revoked this key at the same time.")
        stale = stored.digests
        _retire(stored, until=now + overlap)
        record_changes(ConfigChange.Kind.KEY, stale)
        record_audit(
            actor=actor,
            action="key.rotate",
            target=str(key.pk),
            workspace=stored.workspace,
            details={
                "secret": [stored.shown_secret, f"{changes['prefix']}…{changes['hint']}"],
                "old_secret_until": (now + overlap).isoformat(timespec="seconds"),
            },
        )
    key.refresh_from_db()
    return IssuedKey(key, secret)


def _new_secret_of(key: ApiKey) -> tuple[str, dict[str, str | bool]]:
    """Return a secret that begins as the key's did, where that is offered, and what is kept."""
    is_offered = key.prefix in offered_prefixes()
    prefix = key.prefix if is_offered else prefix_for(key.workspace, key.compat_profile)
    secret = new_secret(prefix)
    kept = keep_secret(secret, prefix)
    return secret, kept._asdict()


def _retire(key: ApiKey, *, until: datetime) -> None:
    """Let the secrets that the key has had work until then at the latest."""
    key.retired_secrets.filter(ends_at__gt=until).update(ends_at=until)
    RetiredSecret.objects.create(key=key, digest=key.digest, shown=key.shown_secret, ends_at=until)
