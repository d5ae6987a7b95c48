"""Models of several makers, all at the fake upstream's Bedrock: by an API key over both transports,
and by signatures."""

from __future__ import annotations

import json

import pytest

from tests.fakes.bedrock.serving import REGION
from tests.fakes.bedrock.signatures import ACCESS_KEY_ID, SECRET_ACCESS_KEY
from tests.flows.caller import Caller
from tests.flows.site import Site
from tests.flows.transports import TRANSPORTS, add_provider, named

# Public names, and what they are at the provider.
CLAUDE, OLD_CLAUDE, NOVA, GPT_OSS, PROFILE = (
    *("bedrock-claude", "bedrock-claude-3", "bedrock-nova", "bedrock-gpt-oss"),
    "bedrock-profile",
)
NATIVE = {
    CLAUDE: "eu.anthropic.claude-haiku-4-5-20251001-v1:0",
    OLD_CLAUDE: "anthropic.claude-3-haiku-20240307-v1:0",
    NOVA: "us.amazon.nova-2-lite-v1:0",
    GPT_OSS: "openai.gpt-oss-120b-1:0",
    PROFILE: (
        "arn:aws:bedrock:eu-central-1:123456789012:application-inference-profile/"
        "anthropic.claude-haiku-4-5"
    ),
}
SIGNED = "signed"
# The same Claude by InvokeModel, in Anthropic's format.
INVOKED = "bedrock-anthropic-claude"
SESSION_TOKEN = "IQoJb3JpZ2luX2Vjcanary+session/token=="
ACCESS = {
    "access_key_id": ACCESS_KEY_ID,
    "secret_access_key": SECRET_ACCESS_KEY,
    "session_token": SESSION_TOKEN,
}
SETTINGS = {"region": REGION}


@pytest.fixture(scope="session")
def bedrock_site(site: Site) -> Site:
    base_url = f"{site.upstream.origin}/bedrock"
    facts = {"kind": "aws_bedrock", "base_url": base_url, "settings": SETTINGS}
    for transport in TRANSPORTS:
        provider = add_provider(site, "bedrock", transport=transport, **facts)
        for name, native in NATIVE.items():
            site.add_model(named(name, transport), provider=provider, native_model=native)
        signing = named("bedrock-signed", transport)
        credential = json.dumps(ACCESS, separators=(",", ":"))
        site.office.do("provider", name=signing, credential=credential, **facts)
        used = site.office.do("connect_provider", name=signing, transport=transport)
        assert used == transport
        for name in (CLAUDE, PROFILE):
            model = named(f"{name}-{SIGNED}", transport)
            site.add_model(model, provider=signing, native_model=NATIVE[name])
        invoked = {"kind": "aws_bedrock_anthropic"}
        provider = add_provider(site, "bedrock-anthropic", transport=transport, **facts | invoked)
        model = named(INVOKED, transport)
        site.add_model(model, provider=provider, native_model=NATIVE[CLAUDE])
    return site


@pytest.fixture
def bedrock(bedrock_site: Site, transport: str) -> Caller:
    """A caller of a workspace of its own, who asks a Claude that thinks by a budget."""
    return bedrock_site.caller().with_(model=named(CLAUDE, transport))


@pytest.fixture
def signed(bedrock_site: Site, transport: str) -> Caller:
    """The same, by signatures."""
    return bedrock_site.caller().with_(model=named(f"{CLAUDE}-{SIGNED}", transport))
