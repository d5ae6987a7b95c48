"""What is compressed on its way to a browser, and what is not because it shows a secret."""

from __future__ import annotations

import gzip
from http.client import HTTPConnection
from typing import Any

import pytest

from accounts.models import Workspace
from dashboard.forms.submit_once import new_form_token
from tests.dashboard.visitors import HTMX, Visitor, key_form, signed_in
from tests.factories import make_member, make_workspace
from tests.support.servers import GatewayServer

GZIP = {"Accept-Encoding": "gzip, deflate, br"}


@pytest.fixture
def workspace(db: None) -> Workspace:
    return make_workspace()


@pytest.fixture
def client(workspace: Workspace) -> Visitor:
    return signed_in(make_member(workspace))


@pytest.mark.parametrize("headers", [{}, HTMX], ids=["page", "part"])
def test_a_page_is_compressed_for_who_takes_it(client: Visitor, headers: Any) -> None:
    plain = client.get("/settings", headers=headers)
    small = client.get("/settings", headers=GZIP | headers)

    assert "Content-Encoding" not in plain
    assert small["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in plain["Vary"]
    assert b"Settings" in gzip.decompress(small.content)
    assert len(small.content) * 3 < len(plain.content)


@pytest.mark.parametrize("taken", ["", "br", "gzip;q=0", "identity, gzip; q=0.0, br"])
def test_nothing_is_compressed_for_who_does_not_take_it(client: Visitor, taken: str) -> None:
    answer = client.get("/settings", headers={"Accept-Encoding": taken})

    assert "Content-Encoding" not in answer
    assert b"Settings" in answer.content


def test_what_shows_a_secret_is_not_compressed(client: Visitor) -> None:
    issued = client.post("/keys/new", key_form(token=new_form_token()), headers=GZIP)
    invited = client.post(
        "/members/invite", {"email": "bo@example.com", "role": "viewer"}, headers=GZIP
    )
    account = client.get("/account", headers=GZIP)

    assert [answer.status_code for answer in (issued, invited, account)] == [201, 201, 200]
    assert b"sk-gw-" in issued.content
    assert b"/join#inv-" in invited.content
    assert not any("Content-Encoding" in answer for answer in (issued, invited, account))


@pytest.mark.parametrize(
    ("path", "encoding"),
    [("/sign-in", "gzip"), ("/v1/models", None), ("/v1/openapi.json", None)],
)
def test_a_running_gateway_compresses_pages_alone(
    shared_gateway: GatewayServer, path: str, encoding: str | None
) -> None:
    connection = HTTPConnection("127.0.0.1", shared_gateway.port, timeout=60)
    headers = {"Accept-Encoding": "gzip", "Authorization": f"Bearer {shared_gateway.key}"}
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()

    assert answer.status == 200
    assert answer.headers.get("content-encoding") == encoding
    assert int(answer.headers["content-length"]) == len(body)
