"""Credentials that a call brings for its providers, in its member tensorzero::credentials.

They are taken out of the body before anything else reads it: they are in no record, no stored body,
no fingerprint and no log.
"""

from __future__ import annotations

import msgspec

from gateway.core.errors import RequestError

MEMBER = "tensorzero::credentials"
MAX_CREDENTIALS = 20
MAX_CHARS = 4_096
_NAME = MEMBER.encode()

_read_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_read_credentials = msgspec.json.Decoder(dict[str, str]).decode


class CallCredentials:
    """By the names that providers ask for. They are never shown."""

    __slots__ = ("_secrets",)

    def __init__(self, secrets: dict[str, str]) -> None:
        self._secrets = secrets

    def find(self, name: str) -> str:
        """Return what the call has under a name, empty if nothing."""
        return self._secrets.get(name, "")


def take_credentials(body: bytes) -> tuple[bytes, CallCredentials | None]:
    """Return a request without its credentials, and those. A body that is no JSON object is left
    to its reader. Raises RequestError."""
    if body.find(_NAME) < 0:
        return body, None
    try:
        members = _read_members(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return body, None
    raw = members.pop(MEMBER, None)
    if raw is None:  # some text has the name in it
        return body, None
    return msgspec.json.encode(members), read_credentials(raw)


def read_credentials(raw: bytes | msgspec.Raw) -> CallCredentials:
    """Return the credentials that a JSON object is. Raises RequestError."""
    try:
        secrets = _read_credentials(raw)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise RequestError(
            f"{MEMBER} must be an object of strings: credentials by their names.", param=MEMBER
        ) from None
    if len(secrets) > MAX_CREDENTIALS:
        raise RequestError(f"At most {MAX_CREDENTIALS} credentials.", param=MEMBER)
    for name, secret in secrets.items():
        is_visible = secret.isascii() and secret.isprintable() and " " not in secret
        if not secret or len(secret) > MAX_CHARS or not is_visible:
            raise RequestError(
                f"A credential has 1 to {MAX_CHARS:,} visible ASCII characters, without spaces.",
                param=f"{MEMBER}.{name[:80]}",
            )
    return CallCredentials(secrets)
