"""Models at the fake upstream: `text`, which its provider completes texts with; `chat`, which has
chat alone; `claude`, of a provider that has chat alone."""

from __future__ import annotations

import pytest

from tests.flows.caller import Caller
from tests.flows.site import Site

TEXT, CHAT, CLAUDE = "a-text-model", "a-chat-model", "a-claude-model"


@pytest.fixture(scope="session")
def completers(site: Site) -> None:
    site.add_model(TEXT, operation="completions")
    site.add_model(CHAT, operation="chat")
    site.office.do(
        "provider",
        name="anthropic-for-texts",
        kind="anthropic",
        base_url=f"{site.upstream.origin}/anthropic/v1",
        credential="sk-x",
    )
    site.add_model(CLAUDE, provider="anthropic-for-texts", native_model="claude-sonnet-4-5")


@pytest.fixture
def caller(site: Site, completers: None) -> Caller:
    """A caller of a workspace of its own with 1 USD, allowed everything."""
    return site.caller().with_(model=TEXT)
