"""The only module that writes the credentials of providers. None is ever returned to people."""

from __future__ import annotations

import os
from typing import NamedTuple, TypedDict, Unpack

from django.core.exceptions import ValidationError
from django.db import transaction

from accounts.all_errors import raising_all
from accounts.changes import record_audit, record_change
from accounts.ids import new_id
from accounts.models import ConfigChange
from gateway.core.aws_signing import find_signing_problem
from gateway.core.credential_texts import Entered, Source, hint_of, read_entered
from gateway.models import Provider, ProviderCredential, ProviderHealth
from gateway.models.credential import MAX_WEIGHT
from gateway.providers import catalogue
from gateway.services.changed_fields import change_fields
from gateway.services.credential_encryption import decrypt, encrypt
from gateway.services.environment_credentials import read_variable
from gateway.services.row_names import check_name

MAX_CREDENTIALS = 50
MAX_PER_MINUTE = 100_000
MAX_CONCURRENT = 100_000
FIRST_NAME = "default"


class CredentialFields(TypedDict, total=False):
    """How calls are shared out. None: without that limit."""

    name: str
    weight: int
    requests_per_minute: int | None
    max_concurrent: int | None
    enabled: bool


class Opened(NamedTuple):
    """What a credential is now. problem: why there is no secret, a sentence."""

    secret: str
    problem: str


@transaction.atomic
def add_credential(
    provider: Provider, *, credential: str, actor: str, **fields: Unpack[CredentialFields]
) -> ProviderCredential:
    """Add a credential that calls are shared out to. Raises ValidationError for the field."""
    if provider.credentials.count() >= MAX_CREDENTIALS:
        raise ValidationError({"name": f"A provider has at most {MAX_CREDENTIALS} credentials."})
    row = ProviderCredential(id=new_id(), provider=provider, **fields)
    with raising_all() as gather:
        with gather():
            _put(row, credential)
        with gather():
            _check(row, is_complete="credential" not in gather.errors)
    row.save()
    details = {name: value for name, value in fields.items() if name != "name"}
    _record(row, actor=actor, action="provider.add_credential", **_told(row), **details)
    return row


@transaction.atomic
def update_credential(
    row: ProviderCredential,
    *,
    credential: str | None = None,
    actor: str,
    **fields: Unpack[CredentialFields],
) -> bool:
    """Change what is given; another credential takes the place of the one there is. Returns False
    when nothing is different. Raises ValidationError."""
    details: dict[str, object] = {}
    with raising_all() as gather:
        if fields.get("enabled") is False:
            with gather():
                _check_others(row, "enabled", "disabled")
        if credential:
            with gather():
                read_new_credential(_kind_of(row.provider), credential)
        with gather():
            details = change_fields(row, dict(fields), _check)
    if credential:
        _put(row, credential)
        row.failure = row.failure_message = ""
        row.failed_at = row.rests_until = None
        row.save()
        ProviderHealth.objects.filter(provider=row.provider).delete()
        details |= {"credential": "replaced", **_told(row)}
    if details:
        _record(row, actor=actor, action="provider.update_credential", **details)
    return bool(details)


@transaction.atomic
def remove_credential(row: ProviderCredential, *, actor: str) -> None:
    """Forget a credential. Calls that are under way with it end well. Raises ValidationError."""
    _check_others(row, "__all__", "removed")
    row.delete()
    _record(row, actor=actor, action="provider.remove_credential")


def put_credential(provider: Provider, credential: str) -> None:
    """Make this the only credential of a provider that is shown to it, and forget the others: they
    were entered for another address. Raises ValidationError."""
    others = provider.credentials.exclude(source=ProviderCredential.Source.DYNAMIC)
    row = others.first() or ProviderCredential(id=new_id(), provider=provider, name=FIRST_NAME)
    _put(row, credential)
    row.enabled = True
    row.failure = row.failure_message = ""
    row.failed_at = row.rests_until = None
    _check(row)
    row.save()
    others.exclude(pk=row.pk).delete()


def open_credential(row: ProviderCredential) -> Opened:
    """Return the secret of a credential that is the server's. Raises DecryptionFailed."""
    opened = _open(row)
    problem = find_signing_problem(_kind_of(row.provider), opened.secret)
    return Opened("", problem) if problem else opened


def _open(row: ProviderCredential) -> Opened:
    if row.secret is not None:
        return Opened(decrypt(bytes(row.secret), row.pk), "")
    if row.source != ProviderCredential.Source.ENV:
        return Opened("", "It comes with each call.")
    try:
        return Opened(read_variable(_kind_of(row.provider), row.variable, os.environ), "")
    except ValueError as error:
        return Opened("", str(error))


def read_credential(provider: Provider, text: str) -> str:
    """Return the secret that would be shown if this were entered, empty for one that calls bring.

    Raises ValidationError for `credential`.
    """
    row = ProviderCredential(id=new_id(), provider=provider)
    _put(row, text)
    if row.source == ProviderCredential.Source.DYNAMIC:
        return ""
    opened = open_credential(row)
    if opened.problem:
        raise ValidationError({"credential": opened.problem})
    return opened.secret


def read_new_credential(kind: str, text: str) -> Entered:
    """Return what was entered. kind: of the credential (ProviderKind.credential). Raises
    ValidationError for `credential`."""
    if kind == "none":
        raise ValidationError({"credential": "A provider of this kind does not use a credential."})
    try:
        entered = read_entered(kind, text)
    except ValueError as error:
        raise ValidationError({"credential": str(error)}) from None
    if problem := find_signing_problem(kind, entered.secret):
        raise ValidationError({"credential": problem})
    return entered


def _put(row: ProviderCredential, text: str) -> None:
    """Set what is shown to the provider. Raises ValidationError for `credential`."""
    entered = read_new_credential(_kind_of(row.provider), text)
    row.source, row.variable = entered.source, entered.variable
    is_stored = entered.source is Source.STORED
    row.secret = encrypt(entered.secret, row.pk) if is_stored else None
    row.hint = hint_of(_kind_of(row.provider), entered.secret) if is_stored else ""


def _kind_of(provider: Provider) -> str:
    """Return what a provider's credentials are (ProviderKind.credential)."""
    kind = catalogue.BY_NAME.get(provider.kind)
    return "key" if kind is None else kind.credential


def _check(row: ProviderCredential, *, is_complete: bool = True) -> None:
    """Raise ValidationError for the fields at fault. is_complete: what is shown to the provider is
    set, too."""
    if not 1 <= row.weight <= MAX_WEIGHT:
        raise ValidationError({"weight": f"Use 1 to {MAX_WEIGHT}."})
    limits = (("requests_per_minute", MAX_PER_MINUTE), ("max_concurrent", MAX_CONCURRENT))
    for name, most in limits:
        value: int | None = getattr(row, name)
        if value is not None and not 1 <= value <= most:
            raise ValidationError({name: f"Use 1 to {most:,}, or leave it empty."})
    check_name(row.name, row.provider.credentials.exclude(pk=row.pk))
    row.full_clean(validate_constraints=is_complete)


def _check_others(row: ProviderCredential, field: str, verb: str) -> None:
    """Raises ValidationError where no other credential would serve."""
    kind = catalogue.BY_NAME.get(row.provider.kind)
    if kind is None or not kind.needs_credential:
        return
    if not row.provider.credentials.exclude(pk=row.pk).filter(enabled=True).exists():
        raise ValidationError(
            {
                field: f"The last credential cannot be {verb}. Add another one first, or disable "
                "the provider."
            }
        )


def _told(row: ProviderCredential) -> dict[str, object]:
    """Return what the audit log says of where a credential is."""
    if row.variable:
        return {"source": f"{row.source}::{row.variable}"}
    return {"source": row.source}


def _record(row: ProviderCredential, *, actor: str, action: str, **details: object) -> None:
    record_change(ConfigChange.Kind.CATALOGUE)
    record_audit(
        actor=actor,
        action=action,
        target=row.provider.name,
        details={"credential_name": row.name, **details},
    )
