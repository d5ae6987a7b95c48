"""What a key's secret looks like, and the only form in which we keep it."""

from __future__ import annotations

import hashlib
import secrets

SECRET_PREFIX = "sk-gw-"  # noqa: S105  # how secrets start, not one of them
SECRET_BYTES = 32
HINT_CHARS = 4


def new_secret() -> str:
    """Return a secret with 256 random bits."""
    return SECRET_PREFIX + secrets.token_urlsafe(SECRET_BYTES)


def digest_secret(secret: str) -> str:
    """Return the 64 hex digits under which a secret is stored and looked up."""
    return hashlib.sha256(secret.encode()).hexdigest()
