"""Gemini on Google Cloud's Vertex AI: the same API, at another address."""

from __future__ import annotations

import pytest

from tests.flows.asking import sent
from tests.flows.caller import Caller
from tests.flows.gemini.test_contents import picture
from tests.flows.site import CREDENTIAL, INPUT_NUSD, OUTPUT_NUSD, Site
from tests.flows.transports import both_transports, named
from tests.flows.vertex import PARENT, PROJECT, add_vertex, assert_project_is_not_told
from tests.flows.whole_message import BOTH, message_of

NATIVE = "gemini-2.5-flash"


@pytest.fixture(scope="module")
def vertex_site(site: Site) -> Site:
    kind, path = "gcp_vertex_gemini", f"/vertex{PARENT}"
    add_vertex(site, "gemini-vertex", kind=kind, native_model=NATIVE, path=path)
    return site


@pytest.fixture
def vertex(vertex_site: Site, transport: str) -> Caller:
    return vertex_site.caller().with_(model=named("gemini-vertex", transport))


@both_transports
@BOTH
def test_the_request_is_vertex_ais(vertex: Caller, stream: bool) -> None:
    echo = vertex.ask("script:echo", stream=stream).echo

    method = "streamGenerateContent?alt=sse" if stream else "generateContent"
    path = f"/vertex{PARENT}/publishers/google/models/{NATIVE}:{method}"
    assert echo["path"] == path
    headers = {name.lower(): value for name, value in echo["headers"]}
    assert headers["authorization"] == f"Bearer {CREDENTIAL}"
    assert "x-goog-api-key" not in headers


@both_transports
@BOTH
def test_answers_arrive_and_are_paid(vertex_site: Site, vertex: Caller, stream: bool) -> None:
    answer = vertex.ask("script:tokens=3&reasoning=2", stream=stream, reasoning_effort="low")

    message = message_of(answer)
    assert (message["content"], message["reasoning"]) == ("tok0 tok1 tok2 ", "think0 think1 ")
    record = vertex_site.record(answer.call_id)
    assert record["charge_nusd"] == INPUT_NUSD + 5 * OUTPUT_NUSD


def test_an_endpoint_has_its_own_address(vertex_site: Site, vertex: Caller) -> None:
    name = vertex_site.add_model(
        "gemini-tuned", provider="gemini-vertex-provider", native_model="endpoints/1234567890"
    )

    echo = vertex.with_(model=name).ask("script:echo").echo

    assert echo["path"] == f"/vertex{PARENT}/endpoints/1234567890:generateContent"


def test_a_pictures_type_has_to_be_known(vertex: Caller) -> None:
    known, unknown = (
        {"role": "user", "content": [picture(f"https://93.184.216.34/{name}")]}
        for name in ("cat.jpeg", "cat")
    )

    file = {"fileUri": "https://93.184.216.34/cat.jpeg", "mimeType": "image/jpeg"}
    assert sent(vertex, known)["contents"][0]["parts"][0] == {"fileData": file}
    refused = vertex.ask(messages=[unknown])
    assert (refused.status, refused.error["code"]) == (400, "invalid_file")


def test_the_project_is_not_told(vertex: Caller) -> None:
    assert_project_is_not_told(vertex)


def test_a_location_has_its_host(vertex_site: Site) -> None:
    made = vertex_site.gateway.manage(
        *("add_provider", "gemini-in-the-world", "--kind", "gcp_vertex_gemini"),
        *("--setting", f"project={PROJECT}", "--setting", "location=global"),
        "--credential-stdin",
        stdin=CREDENTIAL,
    )

    parent = f"/v1/projects/{PROJECT}/locations/global"
    assert made["base_url"] == f"https://aiplatform.googleapis.com{parent}"
