"""Names of parameters that are not known, and resemble one that decides something."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.flows.caller import Caller
from tests.flows.site import Site

STEERING = (
    *("api_base", "base_url", "api_key", "custom_llm_provider", "deployment_id"),
    *("extra_headers", "extra_body", "url_idx", "organization"),
)


@pytest.fixture(scope="module")
def caller(site: Site) -> Caller:
    """One caller for all: none of these calls leaves anything behind that another could see."""
    return site.caller()


@pytest.mark.parametrize("name", STEERING)
@pytest.mark.parametrize("value", ["http://127.0.0.1:1/", None, {}])
def test_a_caller_cannot_steer_where_we_connect(
    site: Site, caller: Caller, name: str, value: Any
) -> None:
    answer = caller.ask(**{name: value})

    assert (answer.status, answer.error["code"]) == (400, "invalid_request")
    assert answer.error["param"] == name
    assert "the provider's URL, credential, headers or body" in answer.error["message"]
    assert site.tries(answer.call_id) == []


LOOK_ALIKES = (
    *("API_BASE", "Base_Url", "api-base", "apiBase", "ApiKey", "api key", "baseURL", "base.url"),
    *("extra-headers", "Extra_Body", "urlIdx", "_organization_", "DeploymentId", "OrganiZation"),
    *("Custom-LLM-Provider", "api__key"),
)


@pytest.mark.parametrize("name", LOOK_ALIKES)
def test_a_look_alike_of_such_a_name_is_refused_as_well(
    site: Site, caller: Caller, name: str
) -> None:
    answer = caller.ask(**{name: "http://127.0.0.1:1/"})

    assert (answer.status, answer.error["code"]) == (400, "invalid_request")
    assert answer.error["param"] == name
    assert site.tries(answer.call_id) == []


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        *(("Model", "model"), ("MAX_TOKENS", "max_tokens"), ("\u017ftream", "stream")),
        *(("Plugins", "plugins"), ("Inferada", "inferada")),
        *(("processors", "inferada.processors"), ("Processors", "inferada.processors")),
    ],
)
def test_a_known_name_in_another_case_or_place_is_refused(
    site: Site, caller: Caller, name: str, meant: str
) -> None:
    """Some providers would read it as the known one: another model than was allowed and priced."""
    answer = caller.ask(**{name: "expensive-model"})

    assert (answer.status, answer.error["param"]) == (400, name)
    assert meant in answer.error["message"]
    assert site.tries(answer.call_id) == []


@pytest.mark.parametrize(
    ("path", "name", "members"),
    [
        ("/v1/messages", "Max_Tokens", {"max_tokens": 9}),
        ("/v1/messages", "processors", {"max_tokens": 9}),
        ("/v1/responses", "Input", {"input": "hello"}),
        ("/v1/responses", "processors", {"input": "hello"}),
        ("/v1/completions", "Prompt", {"prompt": "hello"}),
        ("/v1/embeddings", "INPUT", {"input": "hello"}),
    ],
)
def test_so_it_is_at_other_endpoints(
    caller: Caller, path: str, name: str, members: dict[str, Any]
) -> None:
    body = {"model": caller.model, name: "x", **members}
    if path == "/v1/messages":
        body["messages"] = [{"role": "user", "content": "hello"}]
    answer = caller.ask(raw=json.dumps(body).encode(), path=path)

    error = answer.json["error"]
    assert answer.status == 400
    assert name in error["message"]


@pytest.mark.parametrize("name", ["apis_base", "api_bases", "base", "organisation", "url", "key"])
def test_a_name_that_only_resembles_one_passes(site: Site, caller: Caller, name: str) -> None:
    assert caller.ask(**{name: "x"}).status == 200
