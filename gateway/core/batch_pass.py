"""What the worker shows in the place of an API key when it asks for a line of a batch.

The secret of a key is known to nobody but its holder. A pass names the digest of the key and the
address from which the batch was created, is good for a few minutes, and is signed with a secret of
the installation. All rules of the key apply to the call (docs/adr/0073).
"""

from __future__ import annotations

import base64
import binascii
import hmac
import time
from hashlib import sha256

import msgspec

PREFIX = b"batch-pass."
GOOD_FOR_S = 300


class BatchPass(msgspec.Struct, frozen=True):
    """digest: of the key. ends_at: seconds since the epoch. ip: from where the batch came."""

    digest: str
    ends_at: int
    ip: str = ""


_read = msgspec.json.Decoder(BatchPass).decode


def derive_secret(secret: str) -> bytes:
    """Return the secret that passes are signed with, of the installation's."""
    return hmac.digest(secret.encode(), b"gateway.core.batch_pass", sha256)


def write_pass(secret: bytes, digest: str, ip: str) -> str:
    said = msgspec.json.encode(BatchPass(digest, int(time.time()) + GOOD_FOR_S, ip))
    return b".".join((PREFIX[:-1], _encode(said), _encode(_sign(secret, said)))).decode()


def read_pass(secret: bytes, credential: bytes) -> BatchPass | None:
    """Return what a credential says, None for one that is no pass, is forged, or has ended."""
    if not credential.startswith(PREFIX):
        return None
    try:
        said, signature = map(_decode, credential[len(PREFIX) :].split(b"."))
        if not hmac.compare_digest(signature, _sign(secret, said)):
            return None
        found = _read(said)
    except (ValueError, binascii.Error, msgspec.DecodeError):
        return None
    return found if found.ends_at > time.time() else None


def _sign(secret: bytes, said: bytes) -> bytes:
    return hmac.digest(secret, said, sha256)


def _encode(raw: bytes) -> bytes:
    return base64.urlsafe_b64encode(raw).rstrip(b"=")


def _decode(text: bytes) -> bytes:
    return base64.urlsafe_b64decode(text + b"=" * (-len(text) % 4))
