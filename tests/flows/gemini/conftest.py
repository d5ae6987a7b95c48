"""Models of several generations of Gemini, all at the fake upstream, reached by either
transport."""

from __future__ import annotations

import pytest

from tests.flows.caller import Caller
from tests.flows.site import Site
from tests.flows.transports import TRANSPORTS, add_provider, named

# Public names, and what they are at the provider.
FLASH, NEWEST, PRO, LITE, OLD = "gemini-2.5", "gemini-3.8", "gemini-pro", "gemini-lite", "gemini-2"
NATIVE = {
    FLASH: "gemini-2.5-flash",
    NEWEST: "gemini-3.8-flash",
    PRO: "gemini-2.5-pro",
    LITE: "gemini-3.1-flash-lite",
    OLD: "gemini-2.0-flash-001",
}


@pytest.fixture(scope="session")
def gemini_site(site: Site) -> Site:
    base_url = f"{site.upstream.origin}/gemini/v1beta"
    for transport in TRANSPORTS:
        provider = add_provider(
            site, "gemini", transport=transport, kind="google_ai_studio_gemini", base_url=base_url
        )
        for name, native in NATIVE.items():
            site.add_model(
                named(name, transport),
                provider=provider,
                native_model=native,
                max_output_tokens=16_384,
                supports_pdf=True,
                supports_audio=True,
            )
    return site


@pytest.fixture
def gemini(gemini_site: Site, transport: str) -> Caller:
    """A caller of a workspace of its own, who asks the model that thinks by a budget."""
    return gemini_site.caller().with_(model=named(FLASH, transport))
