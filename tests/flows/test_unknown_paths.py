"""Visitors without a session get the pages that Django would make, without Django."""

from __future__ import annotations

import http.client
from collections.abc import Mapping

import pytest

from tests.support.servers import GatewayServer

Answer = tuple[int, dict[str, str], str]
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
    assert "There is nothing here" in stranger[2]
    assert "There is nothing here" in member[2]
    assert stranger[1]["cache-control"] == "no-store"
    assert "set-cookie" not in stranger[1]


def test_a_form_without_its_cookie_is_refused(shared_gateway: GatewayServer) -> None:
    status, _, text = ask(shared_gateway, "POST", "/sign-in", FORM, "login=a&password=b")

    assert status == 403
    assert "This form is too old" in text


def test_pages_and_files_that_exist_are_served(shared_gateway: GatewayServer) -> None:
    assert ask(shared_gateway, "GET", "/sign-in", {})[0] == 200
    assert ask(shared_gateway, "GET", "/static/css/tokens.css", {})[0] == 200
    assert ask(shared_gateway, "GET", "/", {})[0] == 302


@pytest.mark.parametrize("mount", ["/v1", "/api/v1", "/compat/bud/v1"])
def test_a_missing_endpoint_is_named_in_json(shared_gateway: GatewayServer, mount: str) -> None:
    status, headers, text = ask(shared_gateway, "GET", f"{mount}/nothing", {"x-request-id": "mine"})

    assert status == 404
    assert headers["content-type"] == "application/json"
    assert headers["x-client-request-id"] == "mine"
    assert f"{mount}/nothing" in text
