"""The only module that writes providers and their credentials."""

from __future__ import annotations

from typing import TypedDict, Unpack

from django.core.exceptions import ValidationError
from django.db import transaction

from accounts.changes import record_audit, record_change
from accounts.models import ConfigChange
from accounts.text import is_visible
from gateway.models import Provider, ProviderHealth
from gateway.providers import catalogue
from gateway.providers.catalogue import ProviderKind
from gateway.services.addresses import origin_of, read_base_url
from gateway.services.changed_fields import change_fields
from gateway.services.credential_encryption import encrypt

CREDENTIAL_CHARS = 4_096


class ProviderFields(TypedDict, total=False):
    """What a provider is like. structured_dialect: of vLLM alone, how it spells guided decoding;
    see Provider.StructuredDialect. location: of its data centre. allows_passthrough: calls may name
    it with its own names for models."""

    structured_dialect: str
    is_local: bool
    location: str
    allows_passthrough: bool


@transaction.atomic
def add_provider(
    *,
    name: str,
    kind: str,
    base_url: str = "",
    credential: str | None = None,
    actor: str,
    **fields: Unpack[ProviderFields],
) -> Provider:
    """Add an account at a company, or a server of ours, that answers calls.

    name: a slug, unique. kind: a name of gateway.providers.catalogue. base_url: empty means the
    kind's own. Raises ValidationError for the field that cannot be taken.
    """
    facts = _get_kind(kind)
    if not base_url.strip() and not facts.base_url:
        raise ValidationError({"base_url": f"{facts.label} has no default URL. Enter one."})
    if facts.needs_credential and not credential:
        raise ValidationError({"credential": f"{facts.label} needs a credential."})
    url = read_base_url(base_url or facts.base_url, kind=kind)
    provider = Provider(name=name.strip(), kind=kind, base_url=url, **fields)
    if credential:
        provider.credential = encrypt(read_credential(credential), provider.pk)
    _check(provider)
    provider.save()
    _record(provider, actor=actor, action="provider.add", kind=kind, base_url=url, **fields)
    return provider


@transaction.atomic
def update_provider(provider: Provider, *, actor: str, **fields: Unpack[ProviderFields]) -> bool:
    """Change the fields that are given. Returns False when nothing is different.

    Raises ValidationError for those that cannot be taken.
    """
    details = change_fields(provider, fields, _check)
    if details:
        _record(provider, actor=actor, action="provider.update", **details)
    return bool(details)


@transaction.atomic
def set_credential(provider: Provider, *, credential: str, actor: str) -> None:
    """Replace what we show the provider. The old one is gone. Raises ValidationError."""
    encrypted = encrypt(read_credential(credential), provider.pk)
    Provider.objects.filter(pk=provider.pk).update(credential=encrypted)
    provider.credential = encrypted
    _forget_health(provider)
    _record(provider, actor=actor, action="provider.set_credential")


@transaction.atomic
def set_base_url(
    provider: Provider, *, base_url: str, credential: str | None = None, actor: str
) -> bool:
    """Move a provider to another address. Returns False when it is there already.

    A credential is bound to whom it was entered for: another scheme, host or port asks for it
    again, so that nobody can have a stored one sent elsewhere. Raises ValidationError.
    """
    before = Provider.objects.get(pk=provider.pk)
    url = read_new_base_url(before, base_url=base_url, credential=credential)
    if url == before.base_url:
        return False
    provider.base_url = url
    provider.credential = (
        encrypt(read_credential(credential), provider.pk) if credential else before.credential
    )
    provider.save(update_fields=["base_url", "credential"])
    _forget_health(provider)
    _record(provider, actor=actor, action="provider.set_base_url", base_url=[before.base_url, url])
    return True


def read_new_base_url(provider: Provider, *, base_url: str, credential: str | None) -> str:
    """Return the URL that a provider is to move to, empty meaning its kind's own.

    Raises ValidationError for what is none, and for another host without a credential for it.
    """
    url = read_base_url(base_url or _get_kind(provider.kind).base_url, kind=provider.kind)
    moved = origin_of(url) != origin_of(provider.base_url)
    if moved and provider.credential is not None and not credential:
        raise ValidationError(
            {"credential": "Enter the credential again because the host changed."}
        )
    return url


def set_access(
    provider: Provider, *, base_url: str | None, credential: str | None, actor: str
) -> bool:
    """Change address and credential as far as they are given. Returns False when nothing changes.

    Raises ValidationError as set_base_url does.
    """
    if base_url is not None and set_base_url(
        provider, base_url=base_url, credential=credential, actor=actor
    ):
        return True
    if credential:
        set_credential(provider, credential=credential, actor=actor)
    return bool(credential)


@transaction.atomic
def set_provider_enabled(provider: Provider, *, enabled: bool, actor: str) -> bool:
    """Send calls to this provider, or none any more. Returns False when nothing changes."""
    changed = Provider.objects.filter(pk=provider.pk, enabled=not enabled).update(enabled=enabled)
    provider.enabled = enabled
    if changed:
        _record(provider, actor=actor, action="provider.enable" if enabled else "provider.disable")
    return changed == 1


def _forget_health(provider: Provider) -> None:
    """What was known is of another address or credential."""
    ProviderHealth.objects.filter(provider=provider).delete()


def _check(provider: Provider) -> None:
    if not is_visible(provider.location):
        raise ValidationError({"location": "Control characters are not allowed."})
    provider.full_clean()


def _get_kind(name: str) -> ProviderKind:
    kind = catalogue.BY_NAME.get(name)
    if kind is None:
        known = ", ".join(catalogue.BY_NAME)
        raise ValidationError(
            {"kind": f"The kind {name[:40]!r} does not exist. The kinds are {known}."}
        )
    return kind


def read_credential(text: str) -> str:
    """Return it trimmed. It travels in a header, where anything invisible could do harm."""
    credential = text.strip()
    if not credential or len(credential) > CREDENTIAL_CHARS:
        raise ValidationError({"credential": f"Enter 1 to {CREDENTIAL_CHARS} characters."})
    if not (credential.isascii() and credential.isprintable()) or " " in credential:
        raise ValidationError({"credential": "Use visible ASCII characters only, without spaces."})
    return credential


def _record(provider: Provider, *, actor: str, action: str, **details: object) -> None:
    record_change(ConfigChange.Kind.CATALOGUE)
    record_audit(actor=actor, action=action, target=provider.name, details=details)
