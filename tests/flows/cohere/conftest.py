"""Two of Cohere's models at the fake upstream: one that answers, one that reasons."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.flows.caller import Answer, Caller
from tests.flows.site import CREDENTIAL, Site

PLAIN, REASONING = "command-a-03-2025", "command-a-reasoning-08-2025"
CACHED_NUSD = 100


@pytest.fixture(scope="session")
def cohere_site(site: Site) -> Site:
    base_url = f"{site.upstream.origin}/cohere/v2"
    site.office.do(
        "provider", name="cohere", kind="cohere", base_url=base_url, credential=CREDENTIAL
    )
    for name in (PLAIN, REASONING):
        site.add_model(
            name, provider="cohere", native_model=name, cached_input_pusd=CACHED_NUSD * 1000
        )
    return site


@pytest.fixture
def cohere(cohere_site: Site) -> Caller:
    return cohere_site.caller().with_(model=PLAIN)


def sent(answer: Answer) -> dict[str, Any]:
    """Return the body that reached the API: it was judged there by the SDK's own types."""
    assert answer.status == 200, answer.body
    body: dict[str, Any] = json.loads(answer.echo["body_text"])
    return body
