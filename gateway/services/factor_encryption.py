"""Encryption at rest of second factors: the secrets of authenticator apps and the seeds of
recovery codes, which django-allauth keeps in its own table.

An encrypted one is text: `sealed:` and base64 of what credential_encryption makes. All of them are
encrypted for one purpose, not for their row: the library asks for a text and says no more about it.
"""

from __future__ import annotations

import base64
import binascii
import logging
from collections.abc import Callable
from uuid import UUID

from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from django.db import transaction

from accounts.changes import record_audit
from accounts.models import User
from accounts.permissions import NotAllowed
from gateway.core.json_types import JsonObject
from gateway.services.credential_encryption import (
    DecryptionFailed,
    decrypt,
    encrypt,
    uses_first_key,
)

log = logging.getLogger(__name__)

_PURPOSE = UUID(
    "6f0a8a52-3c1e-4d0b-9a57-2f4c8d1be0f7"
)  # what takes a row's place in the encryption
_PREFIX = "sealed:"


class EncryptedFactors(DefaultMFAAdapter):  # type: ignore[misc] # allauth ships no types
    """What django-allauth asks us about second factors."""

    def encrypt(self, text: str) -> str:
        return encrypt_text(text)

    def generate_authenticator_name(self, user: User, type: Authenticator.Type) -> str:
        """Return the name that a passkey has until its owner chooses another."""
        others = Authenticator.objects.filter(user_id=user.pk, type=type).count()
        return f"Passkey {others + 1}" if others else "Passkey"

    def decrypt(self, encrypted_text: str) -> str:
        """Raises NotAllowed with the remedy when it cannot be decrypted: nobody gets in so."""
        try:
            return decrypt_text(encrypted_text)
        except DecryptionFailed as error:
            log.error("A second factor cannot be decrypted. %s", error)
            raise NotAllowed(
                "Your second factor cannot be decrypted because the sealing keys have changed."
                " An operator can restore the old key or reset your second factors."
            ) from None


def encrypt_text(text: str) -> str:
    return _PREFIX + base64.b64encode(encrypt(text, _PURPOSE)).decode()


def decrypt_text(text: str) -> str:
    """Return the plain text; text that is not encrypted stays as it is. Raises DecryptionFailed."""
    return decrypt(_read(text), _PURPOSE) if text.startswith(_PREFIX) else text


def is_encrypted_with_first_key(text: str) -> bool:
    """True when it was encrypted with the first of the sealing keys."""
    return text.startswith(_PREFIX) and uses_first_key(_read(text))


@transaction.atomic
def reencrypt_factors(*, actor: str) -> int:
    """Encrypt with the first key what is not, and return how many factors that were.

    All or nothing. Raises DecryptionFailed, naming the person, when one cannot be decrypted.
    """
    reencrypted = 0
    for factor in Authenticator.objects.select_for_update().select_related("user"):
        try:
            data = rewritten(factor.data, _reencrypted)
        except DecryptionFailed as error:
            raise DecryptionFailed(
                f"The {factor} of {factor.user} cannot be decrypted. {error}"
            ) from None
        if data != factor.data:
            reencrypted += Authenticator.objects.filter(pk=factor.pk).update(data=data)
    if reencrypted:
        details = {"resealed": reencrypted}
        record_audit(actor=actor, action="user.reseal_factors", target="all", details=details)
    return reencrypted


def rewritten(data: JsonObject, change: Callable[[str], str]) -> JsonObject:
    """Return a factor's data with every secret in it changed."""
    new = dict(data)
    for name in ("secret", "seed"):
        if name in data:
            new[name] = change(data[name])
    if "migrated_codes" in data:
        new["migrated_codes"] = [change(code) for code in data["migrated_codes"]]
    return new


def _reencrypted(text: str) -> str:
    return text if is_encrypted_with_first_key(text) else encrypt_text(decrypt_text(text))


def _read(text: str) -> bytes:
    try:
        return base64.b64decode(text.removeprefix(_PREFIX), validate=True)
    except binascii.Error:
        raise DecryptionFailed("It was altered.") from None
