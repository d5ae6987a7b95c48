"""web_search with each service, as it is set for a workspace or for all.

What is asked of it is what it takes, and what it refuses the model is told."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fakes.search_services import SearchServices, running_search_services
from tests.flows.caller import Caller
from tests.flows.site import Site
from tests.flows.tools.asking import SEARCH, ask, script, statuses, tool_events
from tests.support.waiting import wait_until

SERVICES = ["brave", "tavily", "exa", "searxng"]


@pytest.fixture(scope="module")
def services() -> Iterator[SearchServices]:
    with running_search_services() as running:
        yield running


def set_search(site: Site, *options: str) -> None:
    site.office.do("command", name="set_tool", arguments=["web_search", *options])


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_is_asked_as_it_wants_to_be(
    tools_site: Site, caller: Caller, services: SearchServices, service: str
) -> None:
    own = ["--workspace", caller.workspace_id, "--backend", service]
    own += ["--base-url", services.url(service)]
    set_search(tools_site, *own, "--credential-env", "SEARCH_SECRET")
    query = {"query": f"weather & tides of {service}?", "max_results": 1}

    answer = ask(caller, script(query), SEARCH | {"events": True})

    assert (service, query["query"]) in services.asked
    assert tool_events(answer)[-1]["preview"] == "Weather"
    [cited] = answer.json["choices"][0]["message"]["annotations"]
    assert cited["url_citation"]["url"] == "https://example.com/weather"
    [run] = tools_site.record(answer.call_id)["tool_runs"]
    # A workspace's own service is free here.
    assert (run["status"], run.get("nusd", 0)) == ("ok", 0)


@pytest.mark.parametrize(("service", "status"), [("brave", 422), ("tavily", 401), ("exa", 401)])
def test_a_wrong_credential_is_told_to_the_model_alone(
    tools_site: Site, caller: Caller, services: SearchServices, service: str, status: int
) -> None:
    own = ["--workspace", caller.workspace_id, "--backend", service]
    own += ["--base-url", services.url(service)]
    set_search(tools_site, *own, "--credential-env", "SEARCH_WRONG_SECRET")

    answer = ask(caller, script(), SEARCH | {"events": True})

    assert answer.status == 200
    assert statuses(tools_site.record(answer.call_id)) == ["failed"]
    assert str(status) in tool_events(answer)[-1]["preview"]


def test_a_service_for_all_workspaces_may_be_on_a_private_network(
    tools_site: Site, caller: Caller, services: SearchServices
) -> None:
    options = ["--base-url", services.url("searxng")]
    set_search(tools_site, "--backend", "searxng", *options)
    try:
        wait_until(
            lambda: (
                statuses(tools_site.record(ask(caller, script()).call_id)) == ["ok"]
                and ("searxng", "weather") in services.asked
            ),
            what="calls to search there",
        )
    finally:
        set_search(tools_site, "--backend", "static")
    seen = services.asked.count(("searxng", "weather"))

    def is_static() -> bool:
        nonlocal seen
        before, seen = seen, -1
        ask(caller, script())
        seen = services.asked.count(("searxng", "weather"))
        return seen == before

    wait_until(is_static, what="calls to search in the index again")
