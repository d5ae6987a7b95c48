"""Both surfaces of Azure OpenAI, keys and tokens, and what its content filter says."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest

from tests.flows.caller import Caller
from tests.flows.embeddings.asking import embed, vectors
from tests.flows.look_alikes.test_fields import dropped
from tests.flows.site import CREDENTIAL, INPUT_NUSD, OUTPUT_NUSD, Site
from tests.flows.whole_message import BOTH, message_of

SURFACES = {"v1": {}, "deployments": {"api_version": "2024-10-21"}}
TOKEN = "eyJ0eXAiOiJKV1QifQ.e30.c2lnbmF0dXJl"
FILTERED = (
    "The response was filtered due to the prompt triggering Azure OpenAI's content management"
    " policy."
)
FIRST_CHUNK = {
    "choices": [],
    "created": 0,
    "id": "",
    "model": "",
    "object": "",
    "prompt_filter_results": [
        {"prompt_index": 0, "content_filter_results": {"hate": {"filtered": False}}}
    ],
}


@pytest.fixture(scope="module")
def azure_site(site: Site) -> Site:
    for kind, secret in (("azure_openai", CREDENTIAL), ("azure_openai_entra", TOKEN)):
        for surface, settings in SURFACES.items():
            name = f"{kind}-{surface}".replace("_", "-")
            site.office.do(
                "provider",
                name=name,
                kind=kind,
                base_url=f"{site.upstream.origin}/azure/openai",
                credential=secret,
                settings={"resource": "contoso"} | settings,
            )
            for native in ("gpt-4o", "o3", "text-embedding-3-small"):
                site.add_model(f"{name}/{native}", provider=name, native_model=native)
    return site


@pytest.fixture(params=sorted(SURFACES))
def azure(azure_site: Site, request: pytest.FixtureRequest) -> Caller:
    return azure_site.caller().with_(model=f"azure-openai-{request.param}/gpt-4o")


@BOTH
def test_text_arrives_and_is_paid_for(azure_site: Site, azure: Caller, stream: bool) -> None:
    answer = azure.ask("script:tokens=3", stream=stream)

    assert message_of(answer)["content"] == "tok0 tok1 tok2 "
    charge = azure_site.record(answer.call_id)["charge_nusd"]
    assert charge == INPUT_NUSD + 3 * OUTPUT_NUSD


def test_the_model_is_the_deployment(azure: Caller) -> None:
    body = json.loads(azure.ask("script:echo", max_tokens=9).echo["body_text"])

    assert (body["model"], body["max_completion_tokens"]) == ("gpt-4o", 9)


def test_a_deployment_that_reasons_gets_what_it_takes(azure: Caller) -> None:
    reasons = azure.with_(model=azure.model.replace("gpt-4o", "o3"))

    assert dropped(reasons.ask(temperature=0.5)) == {"temperature"}


@pytest.mark.parametrize("surface", sorted(SURFACES))
def test_a_token_of_entra_is_a_bearer_token(azure_site: Site, surface: str) -> None:
    caller = azure_site.caller().with_(model=f"azure-openai-entra-{surface}/gpt-4o")

    headers = dict(caller.ask("script:echo").echo["headers"])

    assert headers["authorization"] == f"Bearer {TOKEN}"
    assert "api-key" not in headers


def test_embeddings_are_there_too(azure: Caller) -> None:
    caller = azure.with_(model=azure.model.replace("gpt-4o", "text-embedding-3-small"))

    assert len(vectors(embed(caller, ["one", "two"]))) == 2


@BOTH
def test_a_filtered_prompt_is_the_callers_to_change(azure: Caller, stream: bool) -> None:
    refusal = f"script:fail=400&code=content_filter&message={quote(FILTERED)}"

    answer = azure.ask(refusal, stream=stream)

    assert (answer.status, answer.error["code"]) == (400, "content_filter")


def test_results_of_the_filter_are_passed_over(azure: Caller) -> None:
    answer = azure.stream(f"script:tokens=2&plant={quote(json.dumps(FIRST_CHUNK))}")

    assert message_of(answer)["content"] == "tok0 tok1 "


@BOTH
def test_a_filtered_answer_ends_for_that_reason(azure: Caller, stream: bool) -> None:
    answer = azure.ask("script:tokens=2&finish=content_filter", stream=stream)

    assert message_of(answer)["finish_reason"] == "content_filter"


@pytest.mark.parametrize(
    ("status", "code", "shown"),
    [(401, "401", "provider_auth"), (404, "DeploymentNotFound", "invalid_request")],
)
def test_refusals_mean_what_they_do_at_openai(
    azure: Caller, status: int, code: str, shown: str
) -> None:
    assert azure.ask(f"script:fail={status}&code={code}").error["code"] == shown


def test_a_connection_can_be_tested(azure_site: Site) -> None:
    for surface in SURFACES:
        said = azure_site.gateway.manage("test_provider", f"azure-openai-{surface}")

        assert said["outcome"] == "reachable", said
