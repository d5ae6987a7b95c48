"""The credential of a request: found, and reduced to the digest under which keys are kept."""

from __future__ import annotations

from hashlib import sha256

from gateway.core.errors import InvalidKey
from gateway.core.request import RequestHead

MAX_SECRET_BYTES = 512


def read_digest(head: RequestHead) -> str:
    """Return the 64 hex digits of the presented key's SHA-256. Raises as read_secret does."""
    return sha256(read_secret(head)).hexdigest()


def shows_none(head: RequestHead) -> bool:
    """True when the request carries no credential at all, not even an empty one."""
    return b"authorization" not in head.fields and b"x-api-key" not in head.fields


def read_secret(head: RequestHead) -> bytes:
    """Return the presented key.

    Carriers: `Authorization: Bearer <key>` (scheme in any case, or the bare key) and
    `x-api-key`. Raises InvalidKey when there is none, when two differ, and for a second
    Authorization, which some server on the way may have read instead of the first.
    """
    given = head.fields.get(b"authorization", b"")
    if given[:7] == b"Bearer " and head.has_no_repeats and b"x-api-key" not in head.fields:
        secret = given[7:].strip()
        if secret and len(secret) <= MAX_SECRET_BYTES:
            return secret
    return _read_carefully(head)


def _read_carefully(head: RequestHead) -> bytes:
    """The same for requests that are not of the usual form."""
    presented = [_read_authorization(value) for value in head.values(b"authorization")]
    if len(presented) > 1:
        raise InvalidKey("There are two Authorization headers.")
    presented += [value.strip() for value in head.values(b"x-api-key")]
    if not presented:
        raise InvalidKey("No API key was given: send it as Authorization: Bearer <key>.")
    secret = presented[0]
    if any(other != secret for other in presented[1:]):
        raise InvalidKey("Two different API keys were given.")
    if not secret or len(secret) > MAX_SECRET_BYTES:
        raise InvalidKey("The API key is not valid.")
    return secret


def _read_authorization(value: bytes) -> bytes:
    scheme, _, rest = value.strip().partition(b" ")
    if scheme.lower() == b"bearer":
        return rest.strip()
    return b"" if rest else scheme
