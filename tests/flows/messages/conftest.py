"""Models that POST /messages is asked for: one of a provider of each dialect."""

from __future__ import annotations

from typing import Any

import pytest

from tests.flows.messages.asking import Messenger
from tests.flows.site import CREDENTIAL, Site

CLAUDE, PROMPTED = "claude-native", "claude-prompted"
STRICT = "gpt-of-messages"
NATIVE_MODEL = "claude-haiku-4-5-20251001"
DIALECTS = {"openai": "fake-model", "anthropic": CLAUDE}


@pytest.fixture(scope="session")
def messages_site(site: Site) -> Site:
    """The site with models of the Messages API: one as it is, one with a prompt of its own."""
    base_url = f"{site.upstream.origin}/anthropic/v1"
    site.office.do(
        "provider",
        name="claude-of-messages",
        kind="anthropic",
        base_url=base_url,
        credential=CREDENTIAL,
    )
    site.office.do(
        "provider",
        name="openai-of-messages",
        kind="openai",
        base_url=site.upstream.base_url,
        credential=CREDENTIAL,
    )
    site.add_model(STRICT, provider="openai-of-messages")
    fields: dict[str, Any] = {
        "provider": "claude-of-messages",
        "native_model": NATIVE_MODEL,
        "max_output_tokens": 16_384,
        "supports_vision": True,
        "supports_pdf": True,
    }
    for name, prompt in ((CLAUDE, ""), (PROMPTED, "Be kind.")):
        site.add_model(name, default_system_prompt=prompt, **fields)
    return site


@pytest.fixture(params=[*DIALECTS.values()], ids=[*DIALECTS])
def anyone(request: pytest.FixtureRequest, messages_site: Site) -> Messenger:
    """A caller of a workspace of its own who asks a model of each dialect in turn."""
    return Messenger.of(messages_site.caller().with_(model=request.param))


@pytest.fixture
def claude(messages_site: Site) -> Messenger:
    """A caller who asks a model of Anthropic's dialect."""
    return Messenger.of(messages_site.caller().with_(model=CLAUDE))


@pytest.fixture
def other(messages_site: Site) -> Messenger:
    """A caller who asks a model of OpenAI's dialect."""
    return Messenger.of(messages_site.caller())
