"""Encryption at rest of second factors: the secrets of authenticator apps and the seeds of
recovery codes, which django-allauth keeps in its own table.

A sealed one is text: `sealed:` and base64 of what gateway.services.sealing makes. All of them are
sealed for one purpose, not for their row: the library asks for a text and says no more about it.
"""

from __future__ import annotations

import base64
import binascii
import logging
from collections.abc import Callable
from typing import Any
from uuid import UUID

from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from django.db import transaction

from accounts.changes import record_audit
from accounts.permissions import NotAllowed
from gateway.services.sealing import SealBroken, is_sealed_with_first_key, seal, unseal

log = logging.getLogger(__name__)

_PURPOSE = UUID("6f0a8a52-3c1e-4d0b-9a57-2f4c8d1be0f7")  # what takes a row's place in the seal
_PREFIX = "sealed:"


class SealedFactors(DefaultMFAAdapter):  # type: ignore[misc] # allauth ships no types
    """What django-allauth asks us about second factors."""

    def encrypt(self, text: str) -> str:
        return seal_text(text)

    def decrypt(self, encrypted_text: str) -> str:
        """Raises NotAllowed with the remedy when it does not open: nobody gets in so."""
        try:
            return unseal_text(encrypted_text)
        except SealBroken as error:
            log.error("A second factor does not open. %s", error)
            raise NotAllowed(
                "Your second factor cannot be read: the installation's sealing keys have changed."
                " An operator can put the old key back, or reset your factors."
            ) from None


def seal_text(text: str) -> str:
    return _PREFIX + base64.b64encode(seal(text, _PURPOSE)).decode()


def unseal_text(text: str) -> str:
    """Return what was sealed; text that was not is returned as it is. Raises SealBroken."""
    return unseal(_read(text), _PURPOSE) if text.startswith(_PREFIX) else text


def is_newly_sealed(text: str) -> bool:
    """True when it was sealed with the first of the sealing keys."""
    return text.startswith(_PREFIX) and is_sealed_with_first_key(_read(text))


@transaction.atomic
def reseal_factors(*, actor: str) -> int:
    """Seal with the first key what is not, and return how many factors that were.

    All or nothing. Raises SealBroken, naming the person, when one does not open.
    """
    resealed = 0
    for factor in Authenticator.objects.select_for_update().select_related("user"):
        try:
            data = rewritten(factor.data, _resealed)
        except SealBroken as error:
            raise SealBroken(f"The {factor} of {factor.user} does not open. {error}") from None
        if data != factor.data:
            resealed += Authenticator.objects.filter(pk=factor.pk).update(data=data)
    if resealed:
        details = {"resealed": resealed}
        record_audit(actor=actor, action="user.reseal_factors", target="all", details=details)
    return resealed


def rewritten(data: dict[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    """Return a factor's data with every secret in it changed."""
    new = dict(data)
    for name in ("secret", "seed"):
        if name in data:
            new[name] = change(data[name])
    if "migrated_codes" in data:
        new["migrated_codes"] = [change(code) for code in data["migrated_codes"]]
    return new


def _resealed(text: str) -> str:
    return text if is_newly_sealed(text) else seal_text(unseal_text(text))


def _read(text: str) -> bytes:
    try:
        return base64.b64decode(text.removeprefix(_PREFIX), validate=True)
    except binascii.Error:
        raise SealBroken("It was altered.") from None
