"""Codes that let somebody in once: shown when they are made, kept as a digest."""

from __future__ import annotations

import hashlib
import secrets

CODE_PREFIX = "inv-"
_RANDOM_BYTES = 32


def new_code() -> str:
    """Return a code that nobody can guess: 256 random bits behind a prefix that names it."""
    return CODE_PREFIX + secrets.token_urlsafe(_RANDOM_BYTES)


def digest_code(code: str) -> str:
    """Return the SHA-256 of a code as 64 hex digits; spaces around it do not count."""
    return hashlib.sha256(code.strip().encode("utf-8", "surrogatepass")).hexdigest()
