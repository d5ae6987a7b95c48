"""The endpoints that read are JSON for every client, and from the first request on."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.flows.caller import Answer, Caller
from tests.flows.site import Site
from tests.support.servers import GatewayServer

READERS = 8


def read(caller: Caller, path: str, accept: str = "") -> Answer:
    return caller.ask(method="GET", path=path, raw=b"", headers={"accept": accept})


@pytest.mark.parametrize(
    "accept",
    [
        "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
        "text/html",
        "text/event-stream",
        "application/vnd.api+json",
        "application/json; indent=8",
        "application/json;q=0",
        ";;;,/",
    ],
)
def test_no_accept_header_makes_a_read_anything_but_json(site: Site, accept: str) -> None:
    caller = site.caller()

    for path in ("/v1/models", "/v1/models/fake-model", "/v1/usage", "/v1/health", "/v1/status"):
        plain, asked = read(caller, path), read(caller, path, accept)

        assert (asked.status, asked.headers["content-type"]) == (200, "application/json")
        assert "set-cookie" not in asked.headers
        assert asked.json.keys() == plain.json.keys()
        assert len(asked.body) <= len(plain.body) + 10


@pytest.mark.parametrize("query", ["format=api", "format=json", "format=none"])
def test_no_query_does_either(site: Site, query: str) -> None:
    answer = read(site.caller(), f"/v1/models/fake-model?{query}")

    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")


@pytest.mark.parametrize("path", ["/v1/models", "/v1/usage", "/v1/generation"])
def test_a_query_of_too_many_parameters_is_the_callers_fault(site: Site, path: str) -> None:
    answer = read(site.caller(), path + "?" + "a=&" * 1_001)

    assert (answer.status, answer.error["code"]) == (400, "invalid_request")
    assert answer.error["message"] == "The query has too many parameters."


def test_many_may_want_the_first_openapi_document_of_a_process(gateway: GatewayServer) -> None:
    caller = Caller(gateway.port, gateway.key, "", "")

    with ThreadPoolExecutor(READERS) as pool:
        answers = list(pool.map(lambda _: read(caller, "/v1/openapi.json"), range(READERS)))

    assert [answer.status for answer in answers] == [200] * READERS
    assert len({answer.body for answer in answers}) == 1


def test_hundreds_of_reads_at_once_are_all_answered_and_calls_go_on(gateway: GatewayServer) -> None:
    caller = Caller(gateway.port, gateway.key, "", "", model=gateway.model)
    reads = [caller.begin(method="GET", path="/v1/generation?id=none", raw=b"") for _ in range(200)]

    called = caller.ask("hello")
    statuses = [live.answer().status for live in reads]

    assert called.status == 200
    assert statuses == [404] * 200
