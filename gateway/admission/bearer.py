"""The credential of a request: found, and reduced to the digest under which keys are kept."""

from __future__ import annotations

from hashlib import sha256

from gateway.core.errors import InvalidKey
from gateway.core.octets import TAB
from gateway.core.request import RequestHead

MAX_SECRET_BYTES = 512
BLANKS = b" \t"


def digest_of(secret: bytes) -> str:
    """Return the 64 hex digits of a key's SHA-256."""
    return sha256(secret).hexdigest()


def has_no_credential(head: RequestHead) -> bool:
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
        secret = given[7:].strip(b" ")
        if secret and len(secret) <= MAX_SECRET_BYTES and TAB not in secret:
            return secret
    return _read_carefully(head)


def _read_carefully(head: RequestHead) -> bytes:
    """The same for requests that are not of the usual form."""
    presented = [_read_authorization(value) for value in head.values(b"authorization")]
    if len(presented) > 1:
        raise InvalidKey("The Authorization header was sent twice.")
    presented += [value.strip(BLANKS) for value in head.values(b"x-api-key")]
    if not presented:
        raise InvalidKey("No API key was provided. Send it as Authorization: Bearer <key>.")
    secret = presented[0]
    if any(other != secret for other in presented[1:]):
        raise InvalidKey("Two different API keys were provided.")
    if not secret or len(secret) > MAX_SECRET_BYTES:
        raise InvalidKey("The API key is not valid.")
    return secret


def _read_authorization(value: bytes) -> bytes:
    """Return the key, empty for another scheme. Blanks around the value are no part of it (RFC
    9110, 5.5); between scheme and key stand spaces (11.4), a tab there is told as what it is."""
    scheme, _, rest = value.strip(BLANKS).partition(b" ")
    if b"\t" in scheme or b"\t" in rest:
        raise InvalidKey(
            "The Authorization header contains a tab. Send Bearer, one space, and the API key."
        )
    if scheme.lower() == b"bearer":
        return rest.strip(b" ")
    return b"" if rest else scheme
