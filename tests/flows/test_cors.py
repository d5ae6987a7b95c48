"""Web pages of allowed origins call the API from a browser; all others, and pages, do not."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.corpus.wire import request, talk
from tests.flows.caller import Answer, Caller
from tests.flows.site import Site, running_site
from tests.flows.test_slow_reader import open_unread

ORIGIN = "https://app.example.com"
PREFLIGHT = {
    "origin": ORIGIN,
    "access-control-request-method": "POST",
    "access-control-request-headers": "authorization,content-type,x-stainless-lang",
}


@pytest.fixture(scope="module")
def open_site(home_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A gateway that two origins may call, with a stall limit short enough to wait for."""
    home = Path(shutil.copytree(home_template, tmp_path_factory.mktemp("cors") / "home"))
    env = {"TOLLHOUSE_CORS_ORIGINS": f"{ORIGIN}, http://localhost:5173", "TOLLHOUSE_STALL_S": "1"}
    with running_site(home, env) as running:
        yield running


@pytest.fixture
def caller(open_site: Site) -> Caller:
    return open_site.caller()


def send(site: Site, method: str, path: str, **headers: str) -> Answer:
    connection = HTTPConnection("127.0.0.1", site.gateway.port, timeout=60)
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, headers=names)
    response = connection.getresponse()
    fields = {name.lower(): value for name, value in response.getheaders()}
    answer = Answer(response.status, fields, response.read())
    connection.close()
    return answer


@pytest.mark.parametrize(
    "path",
    [
        "/v1/chat/completions",
        "/api/v1/models",
        "/openai/v1/models",
        "/compat/bud/v1/chat/completions",
        "//v1/chat/completions",
    ],
)
def test_a_preflight_is_answered_without_a_key(open_site: Site, path: str) -> None:
    answer = send(open_site, "OPTIONS", path, **PREFLIGHT)

    assert (answer.status, answer.body) == (204, b"")
    assert answer.headers["access-control-allow-origin"] == ORIGIN
    assert "POST" in answer.headers["access-control-allow-methods"]
    allowed = answer.headers["access-control-allow-headers"]
    assert allowed == PREFLIGHT["access-control-request-headers"]
    assert answer.headers["vary"] == "Origin"
    assert "access-control-allow-credentials" not in answer.headers


@pytest.mark.parametrize("streamed", [False, True])
def test_a_page_reads_answers_and_their_heads(caller: Caller, streamed: bool) -> None:
    answer = caller.ask("hello", headers={"origin": ORIGIN}, stream=streamed)

    assert answer.status == 200
    assert answer.headers["access-control-allow-origin"] == ORIGIN
    assert "x-request-id" in answer.headers["access-control-expose-headers"]
    assert answer.text


def test_a_page_reads_refusals_too(caller: Caller) -> None:
    answer = caller.with_(secret="nobody's").ask("hello", headers={"origin": ORIGIN})

    assert answer.status == 401
    assert answer.headers["access-control-allow-origin"] == ORIGIN


AT_THE_EDGE = {
    "another host": request(f"Origin: {ORIGIN}", "Host: evil.example", host=None),
    "no such expectation": request(f"Origin: {ORIGIN}", "Expect: other"),
    "a header that is too long": request(f"Origin: {ORIGIN}", "X-A: " + "a" * 9_000),
    "an address that is wrong": request(f"Origin: {ORIGIN}", line="GET /v1/models?a=% HTTP/1.1"),
    "a body that is no chunks": request(
        *(f"Origin: {ORIGIN}", "Transfer-Encoding: chunked"), body=b"zz\r\n", sized=False
    ),
}


@pytest.mark.parametrize("raw", AT_THE_EDGE.values(), ids=AT_THE_EDGE)
def test_a_page_reads_what_is_refused_before_any_application_runs(
    open_site: Site, raw: bytes
) -> None:
    allowed = talk(open_site.gateway.port, raw).answer
    other = talk(open_site.gateway.port, raw.replace(b"app.example", b"evil.example")).answer

    assert allowed.status >= 400
    assert allowed.error["request_id"] == allowed.headers["x-request-id"]
    assert allowed.headers["access-control-allow-origin"] == ORIGIN
    assert "x-request-id" in allowed.headers["access-control-expose-headers"]
    assert (other.status, other.headers["vary"]) == (allowed.status, "Origin")
    assert "access-control-allow-origin" not in other.headers


@pytest.mark.parametrize(
    "raw",
    [
        request(f"Origin: {ORIGIN}", "Expect: other", line="POST /sign-in HTTP/1.1"),
        b"rubbish\r\n\r\n",
    ],
)
def test_what_is_refused_elsewhere_is_for_nobody_else(open_site: Site, raw: bytes) -> None:
    answer = talk(open_site.gateway.port, raw).answer

    assert answer.status in (400, 417)
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "https://app.example.com.evil.example", "null", ""]
)
def test_another_origin_is_allowed_nothing(open_site: Site, origin: str) -> None:
    preflight = send(open_site, "OPTIONS", "/v1/chat/completions", **PREFLIGHT | {"origin": origin})
    answer = open_site.caller().ask("hello", headers={"origin": origin})

    assert preflight.status == 405
    assert answer.status == 200
    for each in (preflight, answer):
        assert not [name for name in each.headers if name.startswith("access-control-")]
        assert each.headers["vary"] == "Origin"


def test_pages_are_for_nobody_else(open_site: Site) -> None:
    answer = send(open_site, "GET", "/sign-in", origin=ORIGIN)

    assert answer.status == 200
    assert "access-control-allow-origin" not in answer.headers


def test_a_reader_that_stalls_is_still_cut_off(open_site: Site) -> None:
    model = open_site.add_model("long-model", max_output_tokens=1_000_000)
    caller = open_site.caller(credit_nusd=10**12).with_(model=model)
    prompt = "script:endless&token_bytes=2000"

    with open_unread(caller, prompt, more_head=f"origin: {ORIGIN}\r\n"):
        [record] = open_site.records(caller)

    assert record["error_code"] == "client_stalled"


def test_it_is_off_where_nobody_asked_for_it(site: Site) -> None:
    preflight = send(site, "OPTIONS", "/v1/chat/completions", **PREFLIGHT)
    answer = site.caller().ask("hello", headers={"origin": ORIGIN})

    assert preflight.status == 405
    assert not [name for name in answer.headers if name.startswith("access-control-")]
