"""A form that is sent twice acts once, without writing anything when it is shown."""

from __future__ import annotations

import secrets

from django.core import signing
from django.core.cache import cache

_SALT = "dashboard.form_token"
MAX_AGE_S = 12 * 60 * 60


class TokenSpent(Exception):
    """The form was sent before, is too old, or never came from us."""


def new_form_token() -> str:
    """Return a token for a hidden field: random, and signed with the time."""
    return signing.TimestampSigner(salt=_SALT).sign(secrets.token_urlsafe(12))


def spend_form_token(token: str, *, done: str) -> None:
    """Use the token up. Raises TokenSpent the second time, or when it is not one of ours.

    done: what the first submission has done, in a sentence.
    """
    try:
        name = signing.TimestampSigner(salt=_SALT).unsign(token[:200], max_age=MAX_AGE_S)
    except signing.BadSignature:
        raise TokenSpent("This form has expired. Open it again.") from None
    if not cache.add(f"form-token:{name}", True, timeout=MAX_AGE_S):
        raise TokenSpent(f"This form was already submitted. {done}")
