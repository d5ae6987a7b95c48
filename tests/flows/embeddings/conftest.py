"""The fake upstream's embeddings, reached by either transport."""

from __future__ import annotations

import pytest

from tests.flows.caller import Caller
from tests.flows.site import Site
from tests.flows.transports import DIRECT, HTTPX, add_provider, named


@pytest.fixture(scope="session")
def embedders(site: Site) -> dict[str, str]:
    """The model of each transport."""
    provider = add_provider(site, "embedder", transport=HTTPX, base_url=site.upstream.base_url)
    name = site.add_model(named("embedder", HTTPX), provider=provider)
    return {DIRECT: "fake-model", HTTPX: name}


@pytest.fixture
def caller(site: Site, embedders: dict[str, str], transport: str) -> Caller:
    """A caller of a workspace of its own with 1 USD, allowed everything."""
    return site.caller().with_(model=embedders[transport])
