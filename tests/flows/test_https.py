"""Behind a proxy that speaks TLS: HSTS, secure cookies, forms, on a trusted proxy's word alone."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPMessage
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.corpus.wire import request, talk
from tests.flows.caller import Caller
from tests.flows.site import Site
from tests.support.servers import GatewayServer, running_gateway

HSTS = "max-age=31536000"
HOST = "gw.example.com"
PUBLIC = {"TOLLHOUSE_PUBLIC_URL": f"https://{HOST}", "TOLLHOUSE_ALLOWED_HOSTS": HOST}
PROXIED = {"TOLLHOUSE_TRUSTED_PROXIES": "127.0.0.1/32", "TOLLHOUSE_ALLOWED_HOSTS": "*"}
PROXY = "127.0.0.1"
SAID = {"x-forwarded-proto": "https"}
# Pages, their files, the API through Django, and what is not there.
READS = ["/sign-in", "/v1/models", "/v1/health", "/nothing/here", "/v1/nothing"]


@pytest.fixture(scope="module")
def public(
    home_template: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayServer]:
    """A gateway whose public address is https, and which trusts no proxy."""
    home = Path(shutil.copytree(home_template, tmp_path_factory.mktemp("public") / "home"))
    with running_gateway(home, env=PUBLIC) as server:
        yield server


@pytest.fixture(scope="module")
def proxied(
    home_template: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayServer]:
    """A gateway with no public address, which trusts the proxy that this test is."""
    home = Path(shutil.copytree(home_template, tmp_path_factory.mktemp("proxied") / "home"))
    with running_gateway(home, env=PROXIED) as server:
        yield server


def ask(
    server: GatewayServer, path: str, headers: dict[str, str] | None = None, form: str = ""
) -> tuple[int, HTTPMessage, str]:
    connection = HTTPConnection("127.0.0.1", server.port, timeout=60)
    sent = {"host": HOST} | (headers or {})
    if form:
        sent["content-type"] = "application/x-www-form-urlencoded"
    connection.request("POST" if form else "GET", path, body=form or None, headers=sent)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, answer.headers, text


def call(server: GatewayServer, *, stream: bool, headers: dict[str, str] | None = None) -> str:
    """Call a model; return the HSTS header of the answer."""
    caller = Caller(server.port, server.key, "", "", model=server.model)
    answer = caller.ask("hi", stream=stream, headers=headers)
    assert answer.status == 200
    return answer.headers.get("strict-transport-security", "")


def sign_in(server: GatewayServer, headers: dict[str, str]) -> list[str]:
    """Sign in as a browser would; return the cookies that were set on the way."""
    _, head, page = ask(server, "/sign-in", headers)
    cookies = head.get_all("set-cookie") or []
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
    assert token is not None
    form = urlencode(
        {"csrfmiddlewaretoken": token[1], "login": server.email, "password": server.password}
    )
    sent = {
        "cookie": "; ".join(each.partition(";")[0] for each in cookies),
        "origin": f"https://{HOST}",
        "referer": f"https://{HOST}/sign-in",
    }
    status, head, text = ask(server, "/sign-in", headers | sent, form)
    assert (status, head["location"]) == (302, "/"), text
    return cookies + (head.get_all("set-cookie") or [])


def test_a_public_https_address_means_hsts_on_pages_and_api(public: GatewayServer) -> None:
    found = {path: ask(public, path)[1].get_all("strict-transport-security") for path in READS}

    assert found == {path: [HSTS] for path in READS}
    assert [call(public, stream=stream) for stream in (False, True)] == [HSTS, HSTS]


def test_and_on_the_word_of_a_trusted_proxy(proxied: GatewayServer) -> None:
    found = {
        path: ask(proxied, path, SAID)[1].get_all("strict-transport-security") for path in READS
    }

    assert found == {path: [HSTS] for path in READS}
    calls = [call(proxied, stream=stream, headers=SAID) for stream in (False, True)]
    assert calls == [HSTS, HSTS]


# Refused by the edge, before any application runs.
AT_THE_EDGE = ("Expect: other", "X-A: " + "a" * 9_000, "Content-Length: x")


@pytest.mark.parametrize("header", AT_THE_EDGE)
def test_so_do_refusals_of_the_edge(
    public: GatewayServer, proxied: GatewayServer, site: Site, header: str
) -> None:
    said, host = "X-Forwarded-Proto: https", f"Host: {HOST}"
    plain, secure = (request(host, *more, header, host=None) for more in ((), (said,)))
    found = {
        "public": talk(public.port, plain, source=PROXY).answer,
        "proxied": talk(proxied.port, secure, source=PROXY).answer,
        "proxied, by http": talk(proxied.port, plain, source=PROXY).answer,
        "a stranger's word": talk(site.gateway.port, secure).answer,
    }

    assert all(answer.status >= 400 for answer in found.values())
    named = {name for name, a in found.items() if "strict-transport-security" in a.headers}
    assert named == {"public", "proxied"}


@pytest.mark.parametrize("said", ["http", "https, http", "", "ftp", "https\t, http"])
def test_only_the_word_https_of_the_nearest_proxy_counts(proxied: GatewayServer, said: str) -> None:
    status, head, _ = ask(proxied, "/sign-in", {"x-forwarded-proto": said})

    assert status == 200
    assert "strict-transport-security" not in head
    assert "secure" not in str(head.get_all("set-cookie")).lower()


def test_the_word_of_a_stranger_means_nothing(site: Site) -> None:
    connection = HTTPConnection("127.0.0.1", site.gateway.port, timeout=60)
    connection.request("GET", "/sign-in", headers=SAID)
    head = connection.getresponse().headers
    connection.close()

    answer = site.caller().ask(headers=SAID)

    assert "strict-transport-security" not in head
    assert "strict-transport-security" not in answer.headers
    assert "secure" not in str(head.get_all("set-cookie")).lower()


def test_signing_in_by_https_sets_secure_cookies_alone(
    public: GatewayServer, proxied: GatewayServer
) -> None:
    for server in (public, proxied):
        cookies = sign_in(server, SAID)

        names = {each.partition("=")[0] for each in cookies}
        assert {"tollhouse_session", "tollhouse_csrf"} <= names
        assert [each for each in cookies if "; Secure" not in each] == []
        assert [each for each in cookies if "HttpOnly" not in each and "_session" in each] == []


def test_every_start_warns_of_any_host(proxied: GatewayServer, public: GatewayServer) -> None:
    words = "TOLLHOUSE_ALLOWED_HOSTS=* accepts any Host header"

    assert words in proxied.log.read_text()
    assert words not in public.log.read_text()
