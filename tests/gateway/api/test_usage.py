"""GET /usage takes any moment that somebody can mean, and says so of others."""

from __future__ import annotations

import pytest

from tests.flows.caller import Answer, Caller
from tests.support.servers import GatewayServer

FAR = (
    "end=0001-01-01",
    "start=9999-12-31&end=9999-12-31T01:00:00",
    "start=0001-01-01T00:00:00%2B14:00&end=0001-01-02",
    "start=9999-12-30&end=9999-12-31T23:59:59-14:00",
    "end=1999-12-31",
    "end=3000-01-01",
)


def ask(gateway: GatewayServer, query: str) -> Answer:
    caller = Caller(gateway.port, gateway.key, key_id="", workspace_id="")
    return caller.ask(raw=b"", method="GET", path=f"/v1/usage?{query}")


@pytest.mark.parametrize("query", FAR)
def test_years_that_nobody_means_are_refused(shared_gateway: GatewayServer, query: str) -> None:
    answer = ask(shared_gateway, query)

    assert (answer.status, answer.error["code"]) == (400, "invalid_request")
    assert "2000 to 2999" in answer.error["message"]


@pytest.mark.parametrize("query", ["start=2000-01-01&end=2000-12-31", "end=2999-12-31", "end="])
def test_the_first_and_the_last_year_are_taken(shared_gateway: GatewayServer, query: str) -> None:
    assert ask(shared_gateway, query).status == 200
