"""Asks a service of a workspace's for a sentence of ours, and says what came of it."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from django.conf import settings

from gateway.core.errors import GatewayError
from gateway.core.processor_rules import ServiceSettings
from gateway.models import ProcessorService
from gateway.outbound.permitted_addresses import read_networks
from gateway.processors.services import ServiceClient
from gateway.services.processor_services import open_service_secret
from gateway.stores.processor_rules import compile_service
from keys.access import access_rules_of

SENTENCE = "My name is John Smith and I recieve mail in London."


class ServiceTest(NamedTuple):
    """message: what came of it, in a sentence."""

    is_ok: bool
    message: str


def test_service(row: ProcessorService) -> ServiceTest:
    """Return whether the service works. Never raises for what the service does."""
    try:
        service = compile_service(row, access_rules_of(row.workspace))
        return ServiceTest(True, asyncio.run(_test(service)))
    except GatewayError as error:
        return ServiceTest(False, f"The test failed: {error.detail or error}.")


async def _test(service: ServiceSettings) -> str:
    networks = read_networks(settings.FETCH_ALLOWED_NETWORKS)
    client = ServiceClient(networks, open_service_secret, retry_after_s=())
    try:
        if service.kind == "presidio":
            found = await client.find_entities(service, SENTENCE, "en", 0.0)
            types = ", ".join(sorted({kind for kind, *_ in found}))
            return f"The service works. Found in the test sentence: {types or 'nothing'}."
        misspelt = await client.find_misspellings(service, SENTENCE, "en-US", "default")
        return f"The service works. Misspellings found in the test sentence: {len(misspelt)}."
    finally:
        await client.aclose()
