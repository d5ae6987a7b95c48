"""Visitors without a session get the pages that Django would make, without Django."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping

import openai
import pytest

from tests.support.servers import GatewayServer

Answer = tuple[int, dict[str, str], str]
SESSION = "tollhouse_session=x"
NOT_FOUND = ("not_found", "application/json")
FORM = {"content-type": "application/x-www-form-urlencoded"}


def ask(
    server: GatewayServer, method: str, path: str, headers: Mapping[str, str], body: str = ""
) -> Answer:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    try:
        connection.request(method, path, body or None, dict(headers))
        answer = connection.getresponse()
        text = answer.read().decode()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, text
    finally:
        connection.close()


def test_a_missing_page_says_the_same_to_strangers_as_to_members(
    shared_gateway: GatewayServer,
) -> None:
    stranger = ask(shared_gateway, "GET", "/no-such-page", {})
    member = ask(shared_gateway, "GET", "/no-such-page", {"cookie": "tollhouse_session=x"})

    assert stranger[0] == member[0] == 404
    assert "Page not found" in stranger[2]
    assert "Page not found" in member[2]
    assert stranger[1]["cache-control"] == "no-store"
    assert "set-cookie" not in stranger[1]


def test_compaction_of_responses_is_no_endpoint(shared_gateway: GatewayServer) -> None:
    client = openai.OpenAI(base_url=shared_gateway.base_url, api_key=shared_gateway.key)

    with client, pytest.raises(openai.NotFoundError, match="/v1/responses/compact"):
        client.responses.compact(model=shared_gateway.model, input="hello")


@pytest.mark.parametrize("path", ["/sign-in", "/w/demo/keys/new", "/keys/new"])
def test_a_form_without_its_cookie_is_refused(shared_gateway: GatewayServer, path: str) -> None:
    status, headers, text = ask(shared_gateway, "POST", path, FORM, "login=a&password=b")

    assert status == 403
    assert "This form has expired" in text
    assert "x-frame-options" in headers
    assert "permissions-policy" not in headers  # Django's pages have one: it was not asked


@pytest.mark.parametrize("path", ["/w/demo/nothing", "/w/demo/keys/1/2", "/w/a%20b/keys"])
def test_what_no_workspace_has_is_refused_to_strangers(
    shared_gateway: GatewayServer, path: str
) -> None:
    status, headers, text = ask(shared_gateway, "GET", path, {})

    assert (status, "permissions-policy" in headers) == (404, False)
    assert "Page not found" in text


@pytest.mark.parametrize("slug", ["demo", "nobody"])
def test_a_stranger_is_asked_to_sign_in_whether_or_not_there_is_such_a_workspace(
    shared_gateway: GatewayServer, slug: str
) -> None:
    status, headers, _ = ask(shared_gateway, "GET", f"/w/{slug}/keys?q=a", {})

    assert (status, headers["location"]) == (302, f"/sign-in?next=/w/{slug}/keys%3Fq%3Da")


def test_pages_and_files_that_exist_are_served(shared_gateway: GatewayServer) -> None:
    assert ask(shared_gateway, "GET", "/sign-in", {})[0] == 200
    assert ask(shared_gateway, "GET", "/static/css/tokens.css", {})[0] == 200
    assert ask(shared_gateway, "GET", "/", {})[0] == 302


@pytest.mark.parametrize("mount", ["/v1", "/api/v1", "/openai/v1", "/compat/bud/v1"])
def test_a_missing_endpoint_is_named_in_json(shared_gateway: GatewayServer, mount: str) -> None:
    status, headers, text = ask(shared_gateway, "GET", f"{mount}/nothing", {"x-request-id": "mine"})

    assert status == 404
    assert headers["content-type"] == "application/json"
    assert headers["x-client-request-id"] == "mine"
    assert f"{mount}/nothing" in text


@pytest.mark.parametrize("path", ["/v1/chat%2Fcompletions", "/v1%2Fchat/completions"])
def test_an_address_in_percent_signs_is_told_without(
    shared_gateway: GatewayServer, path: str
) -> None:
    status, _, text = ask(shared_gateway, "POST", path, {"content-type": "application/json"}, "{}")

    assert status == 404
    assert "without percent signs" in text
    assert f"{shared_gateway.base_url}/chat/completions." in text


# What programs ask for whose base URL is wrong, and the mount that they are told of.
WRONG = {
    "/chat/completions": "/v1",
    "/v1/v1/chat/completions": "/v1",
    "/v1/chat/completion": "/v1",
    "/v1/chat/completions/": "/v1",
    "/api/chat/completions": "/api/v1",
    "/openai/chat/completions": "/openai/v1",
    "/openai/deployments/gpt-4o/chat/completions": "/openai/v1",
    "/v2/chat/completions": "/v1",
    "/compat/bud/chat/completions": "/compat/bud/v1",
    "//v1/chat/completions": "/v1",
    "/proxy/chat/completions": "/v1",
    "/v2/anything": "/v1",
    "/embeddings": "/v1",
}


@pytest.mark.parametrize(("path", "mount"), WRONG.items(), ids=WRONG)
def test_a_wrong_base_is_answered_with_the_right_one(
    shared_gateway: GatewayServer, path: str, mount: str
) -> None:
    bearer = {"authorization": f"Bearer {shared_gateway.key}", "content-type": "application/json"}
    cases = [("GET", bearer, ""), ("POST", bearer, "{}"), ("GET", {"cookie": SESSION}, "")]

    for method, headers, body in cases:
        status, fields, text = ask(shared_gateway, method, path, headers, body)
        error = json.loads(text)["error"]
        assert (status, error["code"], fields["content-type"]) == (404, *NOT_FOUND)
        assert f"Use the base URL {shared_gateway.origin}{mount}" in error["message"]
        assert error["request_id"] == fields["x-request-id"]


def test_a_key_at_a_page_is_told_where_the_api_is(shared_gateway: GatewayServer) -> None:
    bearer = {"authorization": f"Bearer {shared_gateway.key}"}

    status, fields, text = ask(shared_gateway, "GET", "/models", bearer)
    behind_a_proxy = ask(shared_gateway, "GET", "/models", bearer | {"accept": "text/html"})

    assert (status, fields["content-type"]) == (404, "application/json")
    assert f"this endpoint is {shared_gateway.origin}/v1/models" in text
    assert behind_a_proxy[0] == 302


@pytest.mark.parametrize("base", ["", "/api", "/v1/v1", "/openai/v1/v1", "/v2"])
def test_the_official_client_shows_the_hint(shared_gateway: GatewayServer, base: str) -> None:
    address = f"{shared_gateway.origin}{base}"
    with openai.OpenAI(api_key=shared_gateway.key, base_url=address, max_retries=0) as client:
        with pytest.raises(openai.NotFoundError) as refused:
            client.chat.completions.create(model="m", messages=[{"role": "user", "content": "a"}])
        with pytest.raises(openai.NotFoundError):
            client.models.list()

    assert refused.value.code == "not_found"
    assert "/v1/chat/completions" in refused.value.message


def test_openai_v1_is_a_mount_like_the_others(shared_gateway: GatewayServer) -> None:
    address = f"{shared_gateway.origin}/openai/v1"
    with openai.OpenAI(api_key=shared_gateway.key, base_url=address, max_retries=0) as client:
        answer = client.chat.completions.create(
            model=shared_gateway.model, messages=[{"role": "user", "content": "hello"}]
        )
        models = [model.id for model in client.models.list()]

    assert "hello" in str(answer.choices[0].message.content)
    assert shared_gateway.model in models
    told = json.loads(ask(shared_gateway, "GET", "/v1/openapi.json", {})[2])
    assert {"url": "/openai/v1"} in told["servers"]
