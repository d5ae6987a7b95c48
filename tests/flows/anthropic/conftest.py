"""Models of three generations of Claude, all at the fake upstream's Messages API, reached by either
transport."""

from __future__ import annotations

import pytest

from tests.flows.caller import Caller
from tests.flows.site import Site
from tests.flows.transports import TRANSPORTS, add_provider, named

# Public names, and what they are at the provider.
BUDGETED, ADAPTIVE, OLD = "claude-4-5", "claude-5-5", "claude-3"
NATIVE = {
    BUDGETED: "claude-haiku-4-5-20251001",
    ADAPTIVE: "claude-opus-5-5",
    OLD: "claude-3-haiku-20240307",
}


@pytest.fixture(scope="session")
def claude_site(site: Site) -> Site:
    base_url = f"{site.upstream.origin}/anthropic/v1"
    for transport in TRANSPORTS:
        provider = add_provider(
            site, "claude", transport=transport, kind="anthropic", base_url=base_url
        )
        for name, native in NATIVE.items():
            most = 4096 if name == OLD else 16_384
            model = named(name, transport)
            site.add_model(model, provider=provider, native_model=native, max_output_tokens=most)
    return site


@pytest.fixture
def claude(claude_site: Site, transport: str) -> Caller:
    """A caller of a workspace of its own, who asks the model that thinks by a budget."""
    return claude_site.caller().with_(model=named(BUDGETED, transport))
