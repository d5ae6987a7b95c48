"""The credentials of a provider, compiled for the hot path."""

from __future__ import annotations

import importlib
import logging
from typing import NamedTuple

from gateway.core.aws_signing import signs_requests
from gateway.core.credential_texts import account_of
from gateway.core.provider_connection import ConnectionSettings
from gateway.models import Provider, ProviderCredential
from gateway.providers import catalogue
from gateway.services.credential_encryption import DecryptionFailed, decrypt, secret_id
from gateway.services.provider_credentials import Opened, open_credential
from gateway.snapshot.credential import CredentialRecord

log = logging.getLogger(__name__)

DYNAMIC = ProviderCredential.Source.DYNAMIC


class NoUsableCredential(Exception):
    """A provider has credentials, and none can be used."""


class TargetCredentials(NamedTuple):
    """As TargetRecord has them."""

    secret: str = ""
    credential: str = ""
    credentials: tuple[CredentialRecord, ...] = ()
    call_credential: tuple[str, str] | None = None


def target_credentials(provider: Provider) -> TargetCredentials:
    """Return what the provider's targets are shown. A single credential that is sent as it is,
    without limits, needs no choice. Raises NoUsableCredential, and DecryptionFailed for a proxy's
    password."""
    rows = list(provider.credentials.all())
    enabled = [row for row in rows if row.enabled]
    brought = next(((row.name, row.variable) for row in enabled if row.source == DYNAMIC), None)
    own = [row for row in enabled if row.source != DYNAMIC]
    records = [record for row in own if (record := _open(provider, row)) is not None]
    if brought is None and not records:
        if own:
            raise NoUsableCredential("none of its credentials can be used.")
        return TargetCredentials()
    if brought is None and len(records) == 1 and _is_plain(records[0]):
        return TargetCredentials(records[0].secret, records[0].name if len(rows) > 1 else "")
    return TargetCredentials(credentials=tuple(records), call_credential=brought)


def _is_plain(record: CredentialRecord) -> bool:
    has_limits = record.per_minute is not None or record.at_once is not None
    return not (has_limits or account_of(record.kind, record.secret))


def _open(provider: Provider, row: ProviderCredential) -> CredentialRecord | None:
    """Return None for one that cannot be used, and log why."""
    row.provider = provider
    try:
        opened = open_credential(row)
    except DecryptionFailed as error:
        opened = Opened("", f"It cannot be decrypted. {error}")
    if opened.problem:
        log.error("Credential %s of %s is left out. %s", row, provider, opened.problem)
        return None
    return compile_credential(row, opened.secret)


def compile_credential(row: ProviderCredential, secret: str) -> CredentialRecord:
    """Return what calls need to know of an opened credential. Raises DecryptionFailed for the
    password of a proxy."""
    provider = row.provider
    kind = catalogue.BY_NAME[provider.kind]
    if signs_requests(kind.credential, secret):
        # It takes 0.1 s, which calls would have to wait for in their event loop.
        importlib.import_module("gateway.providers.aws.sigv4")
    return CredentialRecord(
        credential_id=str(row.pk),
        name=row.name,
        kind=kind.credential,
        secret=secret,
        weight=row.weight,
        per_minute=row.requests_per_minute,
        at_once=row.max_concurrent,
        region=kind.complete(provider.settings).get("region", ""),
        proxy=_proxy_of(provider),
    )


def _proxy_of(provider: Provider) -> ConnectionSettings | None:
    """Return the provider's own proxy: who makes its tokens is reached by that, too."""
    if not provider.proxy_url:
        return None
    stored = provider.proxy_credential
    name = "proxy_credential"
    return ConnectionSettings(
        proxy_url=provider.proxy_url,
        proxy_credential=decrypt(bytes(stored), secret_id(provider, name)) if stored else "",
    )
