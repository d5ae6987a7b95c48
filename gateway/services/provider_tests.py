"""Tests whether a provider can be reached and takes its credential, and keeps what came of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from difflib import get_close_matches
from functools import partial

from django.db import transaction
from django.utils import timezone

from gateway.models import Provider, ProviderHealth
from gateway.outbound.findings import Finding, Outcome
from gateway.outbound.provider_check import MAX_LIST_BYTES, OtherClient, check_provider
from gateway.providers import catalogue
from gateway.services.credential_encryption import DecryptionFailed
from gateway.services.outbound_clients import is_permitted, open_httpx_client
from gateway.services.provider_connections import connection_settings
from gateway.services.provider_credentials import open_credential, read_credential
from gateway.services.providers import read_new_base_url

# At most this many tests run at a time in a process; others wait.
MAX_CONCURRENT_TESTS = 4
ACCOUNT_UNTRIED = (
    "Reachable. The test does not use the credential: the first call shows whether it is accepted."
)
_threads = ThreadPoolExecutor(MAX_CONCURRENT_TESTS, "provider-test")


def check_connection(provider: Provider) -> Finding:
    """Test a provider as it is saved, and keep the outcome. Blocks for some seconds at most; call
    it outside transactions. No call is made, so it costs nothing."""
    try:
        finding = _check(provider, provider.base_url, secret_of(provider))
    except DecryptionFailed as error:
        finding = Finding(Outcome.NO_CREDENTIAL, f"The credential cannot be read. {error}")
    keep_finding(provider, finding)
    return finding


def check_new_access(
    provider: Provider,
    *,
    base_url: str,
    settings: Mapping[str, str] | None = None,
    credential: str | None,
) -> Finding:
    """Test what set_access would save, and keep nothing.

    Raises ValidationError as it does: a kept credential is sent to no other host.
    """
    url = read_new_base_url(provider, base_url=base_url, settings=settings, credential=credential)
    try:
        secret = read_credential(provider, credential) if credential else secret_of(provider)
        return _check(provider, url, secret)
    except DecryptionFailed as error:
        return Finding(Outcome.NO_CREDENTIAL, f"The credential cannot be read. {error}")


@transaction.atomic
def keep_finding(provider: Provider, finding: Finding) -> None:
    """Keep the outcome of a test of what the provider is now."""
    health = ProviderHealth.objects.filter(provider=provider).first()
    health = health or ProviderHealth(provider=provider)
    health.tested_at = timezone.now()
    health.test_outcome = finding.outcome
    health.test_message = finding.message[:400]
    if finding.is_reachable:
        health.answered_at = health.tested_at
        health.failing_since, health.failure = None, ""
    else:
        health.failing_since = health.failing_since or health.tested_at
        health.failure = finding.outcome
    health.save()


def run_in_thread(test: Callable[[], Finding]) -> Finding:
    """Run a test in a thread of its own: whoever asks may have an event loop, or be in one."""
    return _threads.submit(test).result()


def warn_of_unknown_model(finding: Finding, native_model: str) -> str:
    """Return a sentence when the provider lists its models and this is none of them, else ""."""
    if finding.models is None or native_model in finding.models:
        return ""
    near = get_close_matches(native_model, finding.models, n=3, cutoff=0.6)
    hint = f" Similar: {', '.join(sorted(near))}." if near else ""
    return f"The provider does not list a model {native_model[:100]}.{hint}"


def _check(provider: Provider, base_url: str, secret: str) -> Finding:
    """Test an address as calls of the provider would reach it. Raises DecryptionFailed."""
    if provider.kind == catalogue.SIMULATED:
        return Finding(Outcome.REACHABLE, "Built in. No connection is needed.")
    facts = catalogue.BY_NAME.get(
        provider.kind, catalogue.ProviderKind(provider.kind, provider.kind)
    )
    moved = copy(provider)
    moved.base_url = base_url
    connection = connection_settings(moved)
    other = None
    if connection is not None:
        make = partial(open_httpx_client, connection, max_bytes=MAX_LIST_BYTES)
        other = OtherClient(make, connection.proxy_url)

    # An account is no key: requests are signed with it, or it is exchanged for tokens. It is shown
    # to nobody as it is.
    is_account = facts.credential != "key" and secret.startswith("{")
    shown = "" if is_account else secret

    def run() -> Finding:
        return asyncio.run(
            check_provider(
                base_url + facts.path_prefix,
                facts,
                secret=shown,
                permits=is_permitted,
                other=other,
            )
        )

    finding = run_in_thread(run)
    if is_account and finding.outcome is Outcome.KEY_REFUSED:
        return Finding(Outcome.REACHABLE, ACCOUNT_UNTRIED)
    return finding


def secret_of(provider: Provider) -> str:
    """Return the first credential that serves, empty where there is none. Raises
    DecryptionFailed."""
    for row in provider.credentials.filter(enabled=True):
        opened = open_credential(row)
        if opened.secret:
            return opened.secret
    return ""
