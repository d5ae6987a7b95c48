"""Encryption at rest of the credentials that providers gave us.

A sealed value is: version (1 byte) | key id (4) | nonce (12) | AES-256-GCM ciphertext and tag.
The row's id and the header are authenticated with it, so that a value copied into another row
does not open. The keys are settings.SEALING_KEYS: the first seals, all of them open.
"""

from __future__ import annotations

import hashlib
import secrets
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction

from accounts.changes import record_audit
from gateway.models import Provider

MIN_KEY_CHARS = 32
_VERSION = b"\x01"
_KEY_ID_BYTES = 4
_NONCE_BYTES = 12
_HEADER_BYTES = len(_VERSION) + _KEY_ID_BYTES


class SealBroken(Exception):
    """A sealed value does not open: its key is gone, or it was altered or moved."""


def seal(text: str, row_id: UUID) -> bytes:
    """Return the text encrypted with the first key, for this row alone."""
    header, cipher = next(iter(_ciphers().items()))
    nonce = secrets.token_bytes(_NONCE_BYTES)
    return header + nonce + cipher.encrypt(nonce, text.encode(), header + row_id.bytes)


def unseal(sealed: bytes, row_id: UUID) -> str:
    """Return what was sealed for this row. Raises SealBroken."""
    header, rest = sealed[:_HEADER_BYTES], sealed[_HEADER_BYTES:]
    cipher = _ciphers().get(header)
    if cipher is None:
        raise SealBroken("It was sealed with a key that TOLLHOUSE_SEALING_KEYS does not have.")
    nonce, ciphertext = rest[:_NONCE_BYTES], rest[_NONCE_BYTES:]
    try:
        return cipher.decrypt(nonce, ciphertext, header + row_id.bytes).decode()
    except (InvalidTag, ValueError):
        raise SealBroken("It was altered, or sealed for another row.") from None


def is_sealed_with_first_key(sealed: bytes) -> bool:
    return sealed[:_HEADER_BYTES] == next(iter(_ciphers()))


@transaction.atomic
def reseal_all(*, actor: str) -> int:
    """Seal with the first key what older keys have sealed, and return how many there were.

    Afterwards the older keys may be taken out of the settings. All or nothing.
    Raises SealBroken, naming the provider, when one does not open.
    """
    resealed = 0
    for provider in Provider.objects.exclude(credential=None):
        old = bytes(provider.credential or b"")
        if is_sealed_with_first_key(old):
            continue
        try:
            new = seal(unseal(old, provider.pk), provider.pk)
        except SealBroken as error:
            raise SealBroken(f"The credential of {provider} does not open. {error}") from None
        # Conditional: a credential that was replaced in between stays.
        resealed += Provider.objects.filter(pk=provider.pk, credential=old).update(credential=new)
    if resealed:
        record_audit(
            actor=actor, action="provider.reseal", target="all", details={"resealed": resealed}
        )
    return resealed


def _ciphers() -> dict[bytes, AESGCM]:
    """Return the cipher of each key by the header of what it seals; the first one seals."""
    return dict(_cipher(key) for key in settings.SEALING_KEYS)


def _cipher(key: str) -> tuple[bytes, AESGCM]:
    if len(key) < MIN_KEY_CHARS:
        raise ImproperlyConfigured(
            f"Each of TOLLHOUSE_SEALING_KEYS needs at least {MIN_KEY_CHARS} random characters."
        )
    derived = HKDF(SHA256(), length=32, salt=None, info=b"tollhouse sealing 1").derive(key.encode())
    key_id = hashlib.sha256(b"tollhouse sealing key id" + derived).digest()[:_KEY_ID_BYTES]
    return _VERSION + key_id, AESGCM(derived)
