"""A tool that does not answer: after its time the model is told, and the call goes on."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.flows.caller import Caller
from tests.flows.site import Site, running_site
from tests.flows.tools.asking import (
    FETCH,
    QUERY,
    SEARCH,
    ask,
    script,
    statuses,
    tool_events,
    upstream_nusd,
)
from tests.support.mcp_server import TOKEN, running_mcp_server
from tests.support.mute_servers import listening
from tests.support.web_pages import WebPages

LIMIT_S = 1
US_PER_S = 1_000_000
TOLD = f"The tool took longer than {LIMIT_S} s."
SLOW: list[tuple[dict[str, Any], dict[str, Any], bool]] = [
    (SEARCH, QUERY, False),
    (FETCH, {}, True),
    ({"id": "mcp:weather"}, {}, False),
]


@pytest.fixture(scope="module")
def slow_site(home_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A site whose search service never answers, and that waits for tools a second alone."""
    home = Path(shutil.copytree(home_template, tmp_path_factory.mktemp("slow") / "home"))
    env = {
        "TOLLHOUSE_TOOL_S": str(LIMIT_S),
        "TOLLHOUSE_FETCH_ALLOWED_NETWORKS": "127.0.0.1/32",
        "MCP_CREDENTIAL": f"Bearer {TOKEN}",
    }
    with running_site(home, env) as site, listening() as mute:
        url = f"http://127.0.0.1:{mute.getsockname()[1]}"
        service = ["--backend", "searxng", "--base-url", url, "--price", "0.004"]
        site.office.do("command", name="set_tool", arguments=["web_search", *service])
        yield site


@pytest.fixture(scope="module")
def caller(slow_site: Site) -> Iterator[Caller]:
    """A caller whose MCP server has a tool that never returns."""
    caller = slow_site.caller()
    with running_mcp_server() as url:
        own = [caller.workspace_id, "weather"]
        options = ["--url", url, "--credential-env", "MCP_CREDENTIAL", "--tool", "hang"]
        slow_site.office.do("command", name="set_mcp_server", arguments=[*own, *options])
        slow_site.office.do("command", name="test_mcp_server", arguments=own)
        yield caller


@pytest.mark.parametrize(("plugin", "arguments", "stream"), SLOW, ids=lambda value: str(value))
def test_the_model_is_told_and_the_call_goes_on(
    slow_site: Site,
    caller: Caller,
    pages: WebPages,
    plugin: dict[str, Any],
    arguments: dict[str, Any],
    stream: bool,
) -> None:
    pages.gate.clear()
    given = {"url": pages.url("slow")} if plugin is FETCH else arguments

    answer = ask(caller, script(given), plugin | {"events": True}, stream=stream)
    pages.gate.set()

    assert (answer.status, answer.text) == (200, "".join(f"tok{n} " for n in range(10)))
    last = tool_events(answer)[-1]
    assert (last["type"], last["preview"]) == ("tool_error", TOLD)
    record = slow_site.record(answer.call_id)
    assert (record["status"], statuses(record)) == ("ok", ["timeout"])
    # The event loop's timers can end a millisecond early.
    assert record["tool_runs"][0]["us"] >= 0.9 * LIMIT_S * US_PER_S
    assert record["charge_nusd"] == upstream_nusd(slow_site, answer.call_id)
