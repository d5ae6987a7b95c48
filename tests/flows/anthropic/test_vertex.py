"""Claude on Google Cloud's Vertex AI: the same Messages, at another address."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.flows.anthropic.asking import text
from tests.flows.asking import ECHO
from tests.flows.caller import Caller
from tests.flows.site import CREDENTIAL, INPUT_NUSD, OUTPUT_NUSD, Site
from tests.flows.transports import both_transports, named
from tests.flows.vertex import PARENT, PROJECT, add_vertex, assert_project_is_not_told
from tests.flows.whole_message import BOTH, message_of

NATIVE = "claude-haiku-4-5@20251001"


@pytest.fixture(scope="module")
def vertex_site(site: Site) -> Site:
    add_vertex(site, "claude-vertex", kind="gcp_vertex_anthropic", native_model=NATIVE)
    return site


@pytest.fixture
def vertex(vertex_site: Site, transport: str) -> Caller:
    return vertex_site.caller().with_(model=named("claude-vertex", transport))


@both_transports
@BOTH
def test_the_request_is_vertex_ais(vertex: Caller, stream: bool) -> None:
    echo = vertex.ask(messages=[ECHO], max_tokens=9, stream=stream).echo

    action = "streamRawPredict" if stream else "rawPredict"
    assert echo["path"] == f"{PARENT}/publishers/anthropic/models/{NATIVE}:{action}"
    headers = {name.lower(): value for name, value in echo["headers"]}
    assert headers["authorization"] == f"Bearer {CREDENTIAL}"
    assert not {"x-api-key", "anthropic-version"} & headers.keys()
    body: dict[str, Any] = {
        "anthropic_version": "vertex-2023-10-16",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": [text("script:echo")]}],
    }
    assert json.loads(echo["body_text"]) == body | ({"stream": True} if stream else {})


@both_transports
@BOTH
def test_answers_arrive_and_are_paid(vertex_site: Site, vertex: Caller, stream: bool) -> None:
    answer = vertex.ask("script:tokens=3&reasoning=2", stream=stream)

    message = message_of(answer)
    assert (message["content"], message["reasoning"]) == ("tok0 tok1 tok2 ", "think0 think1 ")
    record = vertex_site.record(answer.call_id)
    assert (record["status"], record["charge_basis"]) == ("ok", "usage")
    assert record["charge_nusd"] == INPUT_NUSD + 5 * OUTPUT_NUSD


@both_transports
@BOTH
@pytest.mark.parametrize(
    ("script", "status", "code"),
    [
        ("fail=400", 400, "invalid_request"),
        ("fail=400&message=prompt+is+too+long:+9+tokens", 400, "context_length_exceeded"),
        ("fail=401", 502, "provider_auth"),
        ("fail=403", 502, "provider_auth"),
        ("fail=404", 400, "invalid_request"),
        ("fail=429", 429, "provider_rate_limit"),
        ("fail=500", 502, "provider_unavailable"),
        ("fail=529", 529, "provider_overloaded"),
    ],
)
def test_each_refusal_has_its_meaning(
    vertex: Caller, script: str, status: int, code: str, stream: bool
) -> None:
    answer = vertex.ask(f"script:{script}", stream=stream)

    assert (answer.status, answer.error["code"]) == (status, code), answer.body


def test_the_project_is_not_told(vertex: Caller) -> None:
    assert_project_is_not_told(vertex)


@pytest.mark.parametrize(
    ("location", "host"),
    [
        ("global", "aiplatform.googleapis.com"),
        ("us", "aiplatform.us.rep.googleapis.com"),
        ("eu", "aiplatform.eu.rep.googleapis.com"),
        ("us-east5", "us-east5-aiplatform.googleapis.com"),
    ],
)
def test_a_location_has_its_host(vertex_site: Site, location: str, host: str) -> None:
    made = vertex_site.gateway.manage(
        *("add_provider", f"vertex-in-{location}", "--kind", "gcp_vertex_anthropic"),
        *("--setting", f"project={PROJECT}", "--setting", f"location={location}"),
        "--credential-stdin",
        stdin=CREDENTIAL,
    )

    assert made["base_url"] == f"https://{host}/v1/projects/{PROJECT}/locations/{location}"
