"""The only module that writes providers and their credentials."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import TypedDict, Unpack

from django.core.exceptions import ValidationError
from django.db import transaction

from accounts.all_errors import raising_all
from accounts.changes import record_audit, record_change
from accounts.models import ConfigChange
from accounts.text import is_visible
from gateway.models import Provider, ProviderCredential, ProviderHealth
from gateway.providers import catalogue
from gateway.providers.catalogue import ProviderKind
from gateway.services.addresses import origin_of, read_base_url
from gateway.services.changed_fields import change_fields
from gateway.services.provider_credentials import put_credential, read_new_credential
from gateway.services.provider_settings import read_settings
from gateway.services.row_names import check_name

NO_SETTINGS: Mapping[str, str] = MappingProxyType({})


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
    settings: Mapping[str, str] = NO_SETTINGS,
    actor: str,
    **fields: Unpack[ProviderFields],
) -> Provider:
    """Add an account at a company, or a server of ours, that answers calls.

    name: a slug, unique. kind: a name of gateway.providers.catalogue. base_url: empty means the
    kind's own. settings: those that the kind declares, by name. Raises ValidationError for the
    field that cannot be taken.
    """
    facts = _get_kind(kind)
    entered, url = dict[str, str](), ""
    with raising_all() as gather:
        with gather():
            entered = read_settings(facts, settings)
            url = read_first_base_url(facts, base_url, entered)
        with gather():
            check_new_credential(facts, credential or "")
        provider = Provider(name=name.strip(), kind=kind, base_url=url, settings=entered, **fields)
        with gather():
            _check(provider, but=() if url else ("base_url",))
    provider.save()
    if credential:
        put_credential(provider, credential)
    details: dict[str, object] = {"kind": kind, "base_url": url, **fields}
    if entered:
        details["settings"] = entered
    _record(provider, actor=actor, action="provider.add", **details)
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
    """Replace what we show the provider, which is one credential. The old one is gone. Raises
    ValidationError."""
    if provider.credentials.count() > 1:
        raise ValidationError(
            {"credential": "The provider has several credentials. Replace one of them by its name."}
        )
    put_credential(provider, credential)
    _forget_health(provider)
    _record(provider, actor=actor, action="provider.set_credential")


@transaction.atomic
def set_base_url(
    provider: Provider,
    *,
    base_url: str,
    settings: Mapping[str, str] | None = None,
    credential: str | None = None,
    actor: str,
) -> bool:
    """Move a provider to another address. Returns False when it is there already.

    A credential is bound to whom it was entered for: another scheme, host or port asks for one,
    which takes the place of all there are, so that nobody can have those sent elsewhere.
    settings: those that are about to apply, None for those there are. Raises ValidationError.
    """
    before = Provider.objects.get(pk=provider.pk)
    url = read_new_base_url(before, base_url=base_url, settings=settings, credential=credential)
    if url == before.base_url:
        return False
    provider.base_url = url
    # Another server has another version.
    provider.server_version, provider.version_asked_at = "", None
    provider.save(update_fields=["base_url", "server_version", "version_asked_at"])
    if credential:
        put_credential(provider, credential)
    _forget_health(provider)
    _record(provider, actor=actor, action="provider.set_base_url", base_url=[before.base_url, url])
    return True


def read_new_base_url(
    provider: Provider,
    *,
    base_url: str,
    settings: Mapping[str, str] | None = None,
    credential: str | None,
) -> str:
    """Return the URL that a provider is to move to, empty meaning its kind's own.

    The kind's own address follows the settings, where it is entered as it was before them. Raises
    ValidationError for what is none, and for another host without a credential for it.
    """
    kind = _get_kind(provider.kind)
    applied = provider.settings if settings is None else read_settings(kind, settings)
    text = base_url.strip().rstrip("/")
    if not text or text == provider.base_url == kind.fill_base_url(provider.settings).rstrip("/"):
        text = kind.fill_base_url(applied)
    url = read_base_url(text, kind=provider.kind)
    moved = origin_of(url) != origin_of(provider.base_url)
    if moved and has_credentials(provider) and not credential:
        raise ValidationError(
            {"credential": "Enter the credential again because the host changed."}
        )
    return url


def has_credentials(provider: Provider) -> bool:
    """True when the provider is shown something that calls do not bring."""
    own = provider.credentials.exclude(source=ProviderCredential.Source.DYNAMIC)
    return own.exists()


@transaction.atomic
def set_access(
    provider: Provider,
    *,
    base_url: str | None = None,
    settings: Mapping[str, str] | None = None,
    credential: str | None = None,
    actor: str,
) -> bool:
    """Change address, settings and credential as far as they are given, the settings all together.
    Returns False when nothing changes.

    Raises ValidationError as set_base_url does.
    """
    has_moved = (base_url is not None or settings is not None) and set_base_url(
        provider,
        base_url=provider.base_url if base_url is None else base_url,
        settings=settings,
        credential=credential,
        actor=actor,
    )
    changed = settings is not None and _set_settings(provider, settings, actor=actor)
    if credential and not has_moved:
        set_credential(provider, credential=credential, actor=actor)
    return has_moved or changed or bool(credential)


def _set_settings(provider: Provider, given: Mapping[str, str], *, actor: str) -> bool:
    """Returns False when nothing is different. Raises ValidationError."""
    before = Provider.objects.get(pk=provider.pk).settings
    after = read_settings(_get_kind(provider.kind), given)
    provider.settings = after
    if after == before:
        return False
    provider.save(update_fields=["settings"])
    _forget_health(provider)
    details = {
        name: [before.get(name, ""), after.get(name, "")]
        for name in sorted(before | after)
        if before.get(name) != after.get(name)
    }
    _record(provider, actor=actor, action="provider.update", **details)
    return True


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


def read_first_base_url(facts: ProviderKind, base_url: str, settings: Mapping[str, str]) -> str:
    """Return the URL of a new provider, empty meaning its kind's own. settings: as read_settings
    returns them. Raises ValidationError for `base_url`."""
    entered = base_url.strip()
    if not entered and not facts.base_url:
        raise ValidationError({"base_url": f"{facts.label} has no default URL. Enter one."})
    return read_base_url(entered or facts.fill_base_url(settings), kind=facts.name)


def check_new_credential(kind: ProviderKind, text: str) -> None:
    """Raise ValidationError for what cannot be the credential of a new provider. text: as it was
    entered, empty for none."""
    if text:
        read_new_credential(kind.credential, text)
    elif kind.needs_credential:
        raise ValidationError({"credential": f"{kind.label} needs a credential."})


def check_location(location: str) -> None:
    if not is_visible(location):
        raise ValidationError({"location": "Control characters are not allowed."})


def _check(provider: Provider, but: Collection[str] = ()) -> None:
    with raising_all() as gather:
        with gather():
            check_location(provider.location)
        with gather():
            check_name(provider.name, Provider.objects.exclude(pk=provider.pk))
        with gather():
            provider.full_clean(exclude={*but, *gather.errors})


def _get_kind(name: str) -> ProviderKind:
    kind = catalogue.BY_NAME.get(name)
    if kind is None:
        known = ", ".join(catalogue.BY_NAME)
        raise ValidationError(
            {"kind": f"The kind {name[:40]!r} does not exist. The kinds are {known}."}
        )
    return kind


def _record(provider: Provider, *, actor: str, action: str, **details: object) -> None:
    record_change(ConfigChange.Kind.CATALOGUE)
    record_audit(actor=actor, action=action, target=provider.name, details=details)
