"""A model with a price per second and per character, at the fake upstream."""

from __future__ import annotations

import pytest

from tests.flows.audio.asking import add_model
from tests.flows.caller import Caller
from tests.flows.site import Site
from tests.flows.transports import DIRECT, TRANSPORTS, add_provider, named


@pytest.fixture(scope="session")
def audio_model(site: Site) -> str:
    address = f"{site.upstream.origin}/v1"
    for transport in TRANSPORTS:
        provider = add_provider(
            site, "audio-openai", transport=transport, kind="openai", base_url=address
        )
        name = named("audio", transport)
        add_model(site, name, provider=provider, native_model="whisper-1")
    return named("audio", DIRECT)


@pytest.fixture
def caller(site: Site, audio_model: str, transport: str) -> Caller:
    """A caller of a workspace of its own with 1 USD, allowed everything."""
    return site.caller().with_(model=named(audio_model, transport))
