"""What a key's secret looks like, and the only form in which we keep it."""

from __future__ import annotations

import hashlib
import secrets
from typing import NamedTuple

SECRET_BYTES = 32
HINT_CHARS = 4


class KeptSecret(NamedTuple):
    """What is stored of a secret: its digest, and its first and last characters for people.

    is_imported: it was issued elsewhere. Prefix and hint are empty where only the digest is known.
    """

    digest: str
    prefix: str
    hint: str
    is_imported: bool = False


def new_secret(prefix: str) -> str:
    """Return a secret with 256 random bits."""
    return prefix + secrets.token_urlsafe(SECRET_BYTES)


def digest_secret(secret: str) -> str:
    """Return the 64 hex digits under which a secret is stored and looked up."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def keep_secret(secret: str, prefix: str) -> KeptSecret:
    """Return what is stored of a secret of ours."""
    return KeptSecret(digest_secret(secret), prefix, secret[-HINT_CHARS:])
