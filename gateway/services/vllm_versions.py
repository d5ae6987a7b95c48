"""Which words of guided decoding vLLM servers take, by the versions that they report.

vLLM 0.12 took structured_outputs in place of guided_json and its siblings. Where the setting of a
provider is automatic, its server is asked for its version once an hour, in the background; what it
said last holds until it says something else.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec
from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from yarl import URL

from accounts.changes import record_change
from accounts.models import ConfigChange
from gateway.core.provider_connection import ConnectionSettings
from gateway.models import Provider
from gateway.outbound.client import FAILURES, GuardedClient
from gateway.outbound.guarded_sockets import TooLarge
from gateway.outbound.provider_check import Client
from gateway.providers import catalogue
from gateway.services.credential_encryption import DecryptionFailed
from gateway.services.outbound_clients import is_permitted, open_httpx_client
from gateway.services.provider_connections import connection_settings
from gateway.services.provider_tests import secret_of

log = logging.getLogger(__name__)

VLLM = "vllm"
EVERY = timedelta(hours=1)
ASK_S = 5.0
# Of each run, which ask all at once.
MAX_ASKED = 20
MAX_BYTES = 64 * 1024
VERSION_CHARS = 60
FIRST_WITH_OBJECT = (0, 12)
Dialect = Provider.StructuredDialect
_NUMBERS = re.compile(r"v?(\d+)\.(\d+)")
# What a build without a tag calls itself says nothing.
_UNTAGGED = re.compile(r"v?0\.[01]\.?dev")


class _Version(msgspec.Struct):
    version: str


_decode = msgspec.json.Decoder(_Version).decode


class Question(NamedTuple):
    """What one server is asked with. connection: None for a client of our own."""

    url: str
    headers: dict[str, str]
    connection: ConnectionSettings | None


def dialect_of(provider: Provider) -> str:
    """Return the words that the provider is told: guided or structured_outputs."""
    if provider.structured_dialect != Dialect.AUTO:
        return provider.structured_dialect
    return _dialect_at(provider.server_version)


def ask_versions(*, now: datetime | None = None) -> None:
    """Ask the servers whose turn it is, and keep what they say. Blocks for some seconds at most;
    call it outside transactions."""
    now = now or timezone.now()
    is_due = Q(version_asked_at=None) | Q(version_asked_at__lte=now - EVERY)
    rows = Provider.objects.filter(is_due, enabled=True, kind=VLLM, structured_dialect=Dialect.AUTO)
    due = list(rows.order_by("version_asked_at", "id")[:MAX_ASKED])
    if not due:
        return
    versions = asyncio.run(_ask_all([_question(provider) for provider in due]))
    for provider, version in zip(due, versions, strict=True):
        _keep(provider, version, now)


def _question(provider: Provider) -> Question | None:
    """Return how to ask; None where a secret of the provider cannot be read."""
    try:
        secret, connection = secret_of(provider), connection_settings(provider)
    except DecryptionFailed:
        return None
    # It is beside the API, not in it: https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html
    base = provider.base_url.rstrip("/").removesuffix("/v1")
    headers = {"accept": "application/json", **catalogue.BY_NAME[VLLM].headers_with(secret)}
    return Question(f"{base}/version", headers, connection)


async def _ask_all(questions: Sequence[Question | None]) -> list[str]:
    return await asyncio.gather(*map(_ask, questions))


async def _ask(question: Question | None) -> str:
    """Return the version, empty where none came."""
    if question is None:
        return ""
    client: Client | None = None
    try:
        async with asyncio.timeout(ASK_S):
            client = _open(question.connection)
            reply = await client.send(
                URL(question.url, encoded=True), method="GET", headers=question.headers
            )
            version = _decode(reply.content).version if reply.status == 200 else ""
    except (*FAILURES, TooLarge, TimeoutError, msgspec.DecodeError, UnicodeError):
        return ""
    finally:
        if client is not None:
            await client.aclose()
    return version if version.isprintable() else ""


def _open(connection: ConnectionSettings | None) -> Client:
    """Return a client that connects as the provider's calls do. Raises ValueError."""
    if connection is None:
        return GuardedClient(max_bytes=MAX_BYTES, permits=is_permitted)
    return open_httpx_client(connection, max_bytes=MAX_BYTES)


@transaction.atomic
def _keep(provider: Provider, version: str, now: datetime) -> None:
    """Keep what a server said, if it is still where it was asked."""
    version = version[:VERSION_CHARS] or provider.server_version
    asked = Provider.objects.filter(pk=provider.pk, base_url=provider.base_url)
    kept = asked.update(server_version=version, version_asked_at=now)
    dialect = _dialect_at(version)
    if kept and dialect != _dialect_at(provider.server_version):
        log.info("Provider %s is vLLM %s: requests use %s.", provider, version, dialect)
        record_change(ConfigChange.Kind.CATALOGUE)


def _dialect_at(version: str) -> str:
    found = None if _UNTAGGED.match(version) else _NUMBERS.match(version)
    if found is not None and (int(found[1]), int(found[2])) < FIRST_WITH_OBJECT:
        return Dialect.GUIDED
    return Dialect.STRUCTURED_OUTPUTS
