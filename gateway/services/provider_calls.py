"""Tests a provider with one real call, which it charges us for. No workspace is charged."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction

from accounts.changes import record_audit
from gateway.core.money import Price
from gateway.core.operations import OPERATIONS
from gateway.models import Provider, ProviderCredential, Target
from gateway.outbound.findings import Finding, Outcome
from gateway.providers import catalogue
from gateway.providers.call_check import CallCheck, can_check, check_by_call
from gateway.services.credential_encryption import DecryptionFailed
from gateway.services.outbound_clients import open_proxied_client
from gateway.services.provider_connections import connection_settings
from gateway.services.provider_credentials import open_credential
from gateway.services.provider_tests import run_in_thread
from gateway.services.snapshot_credentials import compile_credential
from gateway.snapshot.credential import CredentialRecord
from gateway.snapshot.types import TargetRecord

MODEL_CHARS = 200


@dataclass(frozen=True, slots=True)
class CallTest:
    """model: the provider's name of it. credential: the name, empty where there is none."""

    model: str
    credential: str
    finding: Finding


def make_test_call(
    provider: Provider, *, model: str = "", credential: str = "", actor: str
) -> CallTest:
    """Make the call, and tell what came of it. Blocks for a minute at most; call it outside
    transactions.

    model: a name of a model of ours that the provider serves, or any of the provider's own; empty
    for the first that it serves. credential: a name, also of one that is disabled; empty for the
    first that is enabled.
    Raises ValidationError for what cannot be tested.
    """
    if provider.kind not in catalogue.BY_NAME:
        raise ValidationError(f"The kind {provider.kind} is unknown.")
    native_model, operation = _find_model(provider, model.strip())
    if not can_check(operation, provider.kind):
        said = OPERATIONS.get(operation, operation).lower()
        raise ValidationError({"model": f"Models for {said} cannot be tested with a call."})
    row = _find_credential(provider, credential.strip())
    finding = _ask(provider, native_model, operation, row)
    test = CallTest(native_model, row.name if row else "", finding)
    _record(provider, test, actor=actor)
    return test


def tested_models(provider: Provider) -> list[str]:
    """Return the names that the provider has for the models of ours that it serves."""
    names = provider.targets.values_list("native_model", flat=True)
    return sorted(set(names))


def _find_model(provider: Provider, text: str) -> tuple[str, str]:
    """Return the provider's name of a model, and the operation to ask it for."""
    if len(text) > MODEL_CHARS or not text.isprintable():
        raise ValidationError({"model": f"Enter a model ID of at most {MODEL_CHARS} characters."})
    targets = Target.objects.filter(provider=provider).select_related("model")
    targets = targets.order_by("model__name", "position")
    named = [each for each in targets if text in ("", each.native_model, each.model.name)]
    # What the provider calls so goes before what we do.
    for target in sorted(named, key=lambda each: each.native_model != text):
        return target.native_model, target.model.operation or "chat"
    if not text:
        raise ValidationError({"model": "Enter a model ID: the provider serves no model yet."})
    return text, "chat"


def _find_credential(provider: Provider, name: str) -> ProviderCredential | None:
    rows = provider.credentials.all()
    if not name:
        own = rows.exclude(source=ProviderCredential.Source.DYNAMIC)
        return own.order_by("-enabled", "created_at", "id").first()
    row = rows.filter(name=name).first()
    if row is None:
        raise ValidationError({"credential": f"The provider has no credential {name[:60]}."})
    if row.source == ProviderCredential.Source.DYNAMIC:
        raise ValidationError({"credential": "This credential comes with each call."})
    return row


def _ask(
    provider: Provider, native_model: str, operation: str, row: ProviderCredential | None
) -> Finding:
    credential: CredentialRecord | None = None
    try:
        connection = connection_settings(provider)
        if row is not None:
            row.provider = provider
            opened = open_credential(row)
            if opened.problem:
                return Finding(Outcome.NO_CREDENTIAL, opened.problem)
            credential = compile_credential(row, opened.secret)
    except DecryptionFailed as error:
        return Finding(Outcome.NO_CREDENTIAL, f"The credential cannot be read. {error}")
    kind = catalogue.BY_NAME[provider.kind]
    target = TargetRecord(
        model=native_model,
        provider=provider.name,
        kind=provider.kind,
        base_url=provider.base_url,
        native_model=native_model,
        price=Price(0, 0, 0),
        connection=connection,
        settings=kind.complete(provider.settings),
    )
    check = CallCheck(
        target=target,
        operation=operation,
        credential=credential,
        proxy_url=connection.proxy_url if connection else "",
        open_client=open_proxied_client,
        connect_s=settings.STREAM_TIMEOUTS["connect_s"],
        takes_link_local=settings.LINK_LOCAL_PROVIDERS,
    )
    return run_in_thread(lambda: asyncio.run(check_by_call(check)))


@transaction.atomic
def _record(provider: Provider, test: CallTest, *, actor: str) -> None:
    details = {"model": test.model, "outcome": test.finding.outcome.value}
    if test.credential:
        details["credential_name"] = test.credential
    record_audit(actor=actor, action="provider.test_call", target=provider.name, details=details)
