"""Remote MCP servers of workspaces: a real server, and a model that calls its tools."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.flows.caller import Answer, Caller
from tests.flows.messages.asking import Messenger
from tests.flows.processors.personal import EMAIL
from tests.flows.responses.asking import respond
from tests.flows.site import Site, running_site
from tests.support.canary import listening_canary
from tests.support.file_server import serving_files
from tests.support.mcp_server import TOKEN, running_mcp_server
from tests.support.servers import run_manage
from tests.support.waiting import wait_until

CITY = '{"city":"Delft"}'
PRICE_NUSD = 1_000_000


@pytest.fixture(scope="module")
def server_url() -> Iterator[str]:
    with running_mcp_server() as url:
        yield url


@pytest.fixture(scope="module")
def mcp_site(home_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A site that may connect to MCP servers on this host; a variable has their credential."""
    home = Path(shutil.copytree(home_template, tmp_path_factory.mktemp("mcp") / "home"))
    env = {
        "TOLLHOUSE_FETCH_ALLOWED_NETWORKS": "127.0.0.1/32",
        "MCP_CREDENTIAL": f"Bearer {TOKEN}",
    }
    with running_site(home, env) as site:
        yield site


def command(site: Site, name: str, caller: Caller, *arguments: str) -> Any:
    return site.office.do("command", name=name, arguments=[caller.workspace_id, *arguments])


def with_server(site: Site, url: str, *options: str, **rules: Any) -> Caller:
    """Return a caller whose workspace has the server as `weather`, its tools listed. rules: those
    of its key."""
    caller = site.caller(**rules)
    credential = ("--credential-env", "MCP_CREDENTIAL")
    command(site, "set_mcp_server", caller, "weather", "--url", url, *credential, *options)
    command(site, "test_mcp_server", caller, "weather")
    return caller


def ask(caller: Caller, arguments: str = CITY, **options: Any) -> Answer:
    """Make a call whose model calls the first tool it has, and then says what it was asked."""
    prompt = f"script:echo&tools=1&args={quote(arguments)}"
    return caller.ask(prompt, **{"plugins": [{"id": "mcp:weather"}], **options})


def body_of(answer: Answer) -> dict[str, Any]:
    """Return the last request that the model got."""
    assert answer.status == 200, answer.body
    body: dict[str, Any] = json.loads(answer.echo["body_text"])
    return body


def result_of(answer: Answer) -> str:
    """Return what the model was told that its tool returned."""
    told = body_of(answer)["messages"][-1]
    assert told["role"] == "tool"
    return str(told["content"])


@pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
def test_a_model_gets_what_a_tool_of_the_server_returns(
    mcp_site: Site, server_url: str, stream: bool
) -> None:
    caller = with_server(mcp_site, server_url, "--tool", "forecast", "--price-usd", "0.001")
    listed = command(mcp_site, "list_mcp_servers", caller)

    answer = ask(caller, stream=stream)
    record = mcp_site.record(answer.call_id)

    [tool] = body_of(answer)["tools"]
    assert tool["function"]["name"] == "hi_mcp_weather_forecast"
    assert tool["function"]["parameters"]["required"] == ["city"]
    assert "Sunny in Delft." in result_of(answer)
    assert record["charge_nusd"] > PRICE_NUSD
    assert listed["mcp_servers"][0]["usable_tools"] == ["forecast"]
    assert len(listed["mcp_servers"][0]["tools"]) == 5
    assert TOKEN not in str(listed)


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("fail", "{}", "is no good."),
        ("much", "{}", "too large"),
        ("forecast", '{"city":7}', "valid string"),
        ("add.numbers", '{"first":1,"second":2}', "3"),
    ],
)
def test_what_goes_wrong_in_a_tool_is_told_to_the_model_without_the_credential(
    mcp_site: Site, server_url: str, tool: str, arguments: str, told: str
) -> None:
    caller = with_server(mcp_site, server_url, "--tool", tool)

    answer = ask(caller, arguments)

    assert told in result_of(answer)
    assert TOKEN.encode() not in answer.body


@pytest.mark.parametrize("city", [EMAIL, [EMAIL]], ids=["a result", "an error that quotes it"])
def test_processors_read_what_a_server_returns(mcp_site: Site, server_url: str, city: Any) -> None:
    rules = {"scopes": ["completions", "pii"]}
    caller = with_server(mcp_site, server_url, "--tool", "forecast", **rules)
    inferada = {"processors": ["anonymise"], "language": "en"}

    prompt = f"script:noted&tools=1&args={quote(json.dumps({'city': city}))}"
    answer = caller.ask(prompt, plugins=[{"id": "mcp:weather"}], inferada=inferada)

    assert answer.status == 200, answer.body
    told = json.loads(mcp_site.tries(answer.call_id)[-1]["body"])["messages"][-1]["content"]
    assert EMAIL not in told
    assert "<INF_EMAIL_ADDRESS_1>" in told


def test_a_server_that_is_gone_is_a_failure_of_its_tool(mcp_site: Site) -> None:
    with running_mcp_server() as url:
        caller = with_server(mcp_site, url)

    assert "could not be reached" in result_of(ask(caller))


def test_a_wrong_credential_is_said_when_the_tools_are_listed(
    mcp_site: Site, server_url: str
) -> None:
    caller = mcp_site.caller()
    command(mcp_site, "set_mcp_server", caller, "weather", "--url", server_url)

    with pytest.raises(AssertionError, match="refused the credential"):
        command(mcp_site, "test_mcp_server", caller, "weather")
    assert ask(caller).error["code"] == "plugin_unavailable"


def test_only_calls_of_the_workspace_have_its_servers(mcp_site: Site, server_url: str) -> None:
    caller, other = with_server(mcp_site, server_url), mcp_site.caller()

    answer = ask(other)
    assert (answer.status, answer.error["code"]) == (400, "plugin_unavailable")
    assert answer.error["param"] == "plugins[0].id"
    assert ask(caller).status == 200

    command(mcp_site, "set_mcp_server", caller, "weather", "--enabled", "no")
    wait_until(lambda: ask(caller).status == 400, what="the server to be disabled")
    command(mcp_site, "set_mcp_server", caller, "weather", "--enabled", "yes")
    wait_until(lambda: ask(caller).status == 200, what="the server to be enabled")
    command(mcp_site, "remove_mcp_server", caller, "weather")
    wait_until(lambda: ask(caller).status == 400, what="the server to be removed")


def test_rules_of_hosts_apply_to_servers_too(mcp_site: Site, server_url: str) -> None:
    caller = with_server(mcp_site, server_url)
    mcp_site.office.do("access_rules", workspace_id=caller.workspace_id, denied_hosts=["127.0.0.1"])

    wait_until(lambda: "do not allow" in result_of(ask(caller)), what="the denied host")


def test_no_server_makes_anybody_connect_inside(site: Site, mcp_site: Site) -> None:
    caller, other = site.caller(), mcp_site.caller()
    connected = []

    with listening_canary() as canary:
        for number, url in enumerate(canary.urls()):
            try:
                command(site, "set_mcp_server", caller, f"s{number}", "--url", url)
                command(site, "test_mcp_server", caller, f"s{number}")
            except AssertionError:
                continue
            connected.append(url)
        where = {"location": canary.urls()[0]}
        with serving_files(lambda path: (307, where, b"")) as door:
            command(mcp_site, "set_mcp_server", other, "door", "--url", door.url("/mcp"))
            with pytest.raises(AssertionError):
                command(mcp_site, "test_mcp_server", other, "door")

    assert connected == []


def tools_of(answer: Answer) -> list[str]:
    """Return the names of the tools that the model got."""
    return [tool["function"]["name"] for tool in body_of(answer).get("tools", ())]


def test_a_server_by_default_is_in_all_calls_that_do_not_leave_it_out(
    mcp_site: Site, server_url: str
) -> None:
    caller = with_server(mcp_site, server_url, "--tool", "forecast", "--by-default", "yes")
    mcp_site.add_model("mcp-no-tools")
    mcp_site.office.do("describe_model", name="mcp-no-tools", supports_tools=False)
    plain = caller.with_(model="mcp-no-tools")
    url = mcp_site.upstream.base_url
    mcp_site.office.do("provider", name="mcp-local", base_url=url, is_local=True)
    local = caller.with_(model=mcp_site.add_model("mcp-inside", provider="mcp-local"))
    inside: dict[str, Any] = {"inferada": {"processors": ["require_local"]}}

    used = ask(caller, plugins=None, hi_tool_events=True)
    both = caller.ask("script:echo", plugins=[{"id": "datetime"}])
    off = caller.ask("script:echo", plugins=[{"id": "mcp:weather", "enabled": False}])
    several = caller.ask("script:echo", n=2)
    without = plain.ask("script:echo")
    private = local.ask("script:echo", **inside)

    assert "Sunny in Delft." in result_of(used)
    assert [event["plugin"] for event in used.json["hi_tool_events"]] == ["mcp:weather"] * 2
    assert tools_of(both) == ["hi_datetime", "hi_mcp_weather_forecast"]
    assert [tools_of(answer) for answer in (off, several, without, private)] == [[]] * 4
    assert tools_of(local.ask("script:echo")) == ["hi_mcp_weather_forecast"]
    named = plain.ask("script:echo", plugins=[{"id": "mcp:weather"}])
    assert (named.status, named.error["code"]) == (400, "unsupported_parameter")


@pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
def test_a_server_by_default_is_in_calls_of_each_format(
    mcp_site: Site, server_url: str, stream: bool
) -> None:
    caller = with_server(mcp_site, server_url, "--tool", "forecast", "--by-default", "yes")
    prompt = f"script:tools=1&args={quote(CITY)}"

    answers = [
        caller.ask(prompt, stream=stream),
        Messenger.of(caller).ask(prompt, stream=stream),
        respond(caller, prompt, stream=stream),
    ]
    left_out = respond(caller, prompt, plugins=[{"id": "mcp:weather", "enabled": False}])

    for answer in answers:
        [run] = mcp_site.record(answer.call_id)["tool_runs"]
        assert (run["plugin"], run["status"]) == ("mcp:weather", "ok")
    assert not mcp_site.record(left_out.call_id)["tool_runs"]


def test_changes_of_what_is_there_by_default_take_effect(mcp_site: Site, server_url: str) -> None:
    caller = with_server(mcp_site, server_url, "--tool", "forecast")
    reader = mcp_site.another_key(caller.workspace_id, scopes=["usage"])

    def has_tools() -> bool:
        return bool(tools_of(caller.ask("script:echo")))

    def told() -> list[str]:
        key = reader.ask(method="GET", path="/v1/key", raw=b"").json["data"]
        return list(key["default_plugins"])

    assert not has_tools()
    for options, expected in (
        (("--by-default", "yes"), True),
        (("--enabled", "no"), False),
        (("--enabled", "yes"), True),
        (("--by-default", "no"), False),
    ):
        command(mcp_site, "set_mcp_server", caller, "weather", *options)
        wait_until(lambda: has_tools() is expected, what=f"{options} to apply")  # noqa: B023
        assert told() == ["mcp:weather"] * expected


@pytest.mark.parametrize("url", ["http://[::1", "http://host:99999999/"])
def test_the_command_says_that_it_was_given_no_url(
    mcp_site: Site, server_url: str, url: str
) -> None:
    caller = with_server(mcp_site, server_url)

    done = run_manage(
        *(mcp_site.gateway.home, "set_mcp_server", caller.workspace_id, "weather"),
        *("--url", url, "--json"),
    )

    assert done.returncode == 1
    assert json.loads(done.stderr) == {"error": "--url: The URL is not valid."}
    body_of(ask(caller))
