"""Which plugins a request may name, and what each tool gives the model."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.flows.caller import Answer, Caller
from tests.flows.messages.asking import MESSAGES
from tests.flows.site import Site
from tests.flows.tools.asking import (
    CLAUDE,
    FETCH,
    SEARCH,
    SEARCH_NUSD,
    ask,
    script,
    statuses,
    tool_events,
    upstream_nusd,
)
from tests.support.pdf import write_pdf
from tests.support.waiting import wait_until
from tests.support.web_pages import WebPages

REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"plugins": [{"id": "no_tool"}]}, "plugins[0].id", "plugin_unavailable"),
    ({"plugins": [{"id": "image"}]}, "plugins[0].id", "plugin_unavailable"),
    ({"plugins": [SEARCH, {"id": "web"}]}, "plugins[1].id", "invalid_request"),
    ({"plugins": [{}]}, "plugins[0].id", "invalid_request"),
    ({"plugins": [{"id": "web_search", "max_results": 11}]}, "plugins[0].max_results", ""),
    ({"plugins": [{"id": "web_search", "depth": 1}]}, "plugins[0].depth", ""),
    ({"plugins": [SEARCH | {"events": "yes"}]}, "plugins[0].events", ""),
    ({"plugins": [SEARCH], "n": 2}, "n", ""),
    ({"plugins": [SEARCH], "model": "no-tools"}, "plugins[0]", "unsupported_parameter"),
]


@pytest.mark.parametrize(("members", "param", "code"), REFUSED)
def test_what_cannot_run_is_refused_and_named(
    caller: Caller, members: dict[str, Any], param: str, code: str
) -> None:
    answer = caller.ask("hello", **members)

    assert (answer.status, answer.error["param"]) == (400, param)
    assert answer.error["code"] == (code or "invalid_request")


@pytest.mark.parametrize(
    ("plugin", "said"),
    [
        (
            {"id": "file-parser", "pdf": {"engine": "mistral-ocr"}},
            "plugins[0].pdf.engine must be one of: pdf-text.",
        ),
        (
            {"id": "image", "size": "big"},
            "plugins[0].size must be auto, or a size such as 1024x1024.",
        ),
    ],
)
def test_an_option_of_another_gateway_is_told_what_there_is(
    caller: Caller, plugin: dict[str, Any], said: str
) -> None:
    answer = caller.ask("hello", plugins=[plugin])

    assert (answer.status, answer.error["message"]) == (400, said)


def test_a_tool_of_the_callers_cannot_have_the_name_of_a_plugins(caller: Caller) -> None:
    own = {"type": "function", "function": {"name": "hi_web_search", "parameters": {}}}

    answer = caller.ask("hello", plugins=[SEARCH], tools=[own])

    assert (answer.status, answer.error["param"]) == (400, "tools[0].function.name")


def test_plugins_do_not_go_upstream_but_as_tools(caller: Caller) -> None:
    off = {"id": "web_fetch", "enabled": False}

    sent = json.loads(caller.ask("script:echo", plugins=[{"id": "web"}, off]).echo["body_text"])

    assert [tool["function"]["name"] for tool in sent["tools"]] == ["hi_web_search"]
    assert not {"plugins", "hi_tool_events"} & sent.keys()
    alone = json.loads(caller.ask("script:echo", plugins=[off]).echo["body_text"])
    assert "tools" not in alone


def test_a_model_without_tools_is_told_the_time(caller: Caller) -> None:
    answer = caller.ask("script:echo", plugins=[{"id": "datetime"}], model="no-tools")

    sent = json.loads(answer.echo["body_text"])
    assert sent["messages"][0]["role"] == "system"
    assert "The current date and time is" in sent["messages"][0]["content"]
    assert "tools" not in sent


def preview(caller: Caller, plugin: dict[str, Any], arguments: dict[str, Any]) -> str:
    """Return what a run of the tool came to."""
    answer = ask(caller, script(arguments), plugin | {"events": True})
    assert answer.status == 200, answer.body
    return str(tool_events(answer)[-1]["preview"])


def test_each_tool_gives_what_it_found(tools_site: Site, caller: Caller, pages: WebPages) -> None:
    time = preview(caller, {"id": "datetime"}, {"timezone": "Europe/Amsterdam"})
    nowhere = preview(caller, {"id": "datetime"}, {"timezone": "Mars/Base"})
    page = preview(caller, FETCH, {"url": pages.url("page")})
    missing = preview(caller, FETCH, {"url": pages.url("nothing")})
    pages.files["/two.pdf"] = write_pdf("First page", "Second page")
    pdf = ask(caller, script({"url": pages.url("two.pdf"), "pages": "2"}), {"id": "file-parser"})

    assert '"timezone":"Europe/Amsterdam"' in time
    assert nowhere == "The time zone is unknown. Use an IANA name."
    assert page.startswith("The lighthouse: ")
    assert missing == "The URL could not be fetched."
    [run] = tools_site.record(pdf.call_id)["tool_runs"]
    assert (run["plugin"], run["status"], run["units"]) == ("pdf", "ok", 1)


def test_settings_of_a_tool_take_effect_while_the_gateway_runs(
    tools_site: Site, caller: Caller
) -> None:
    arguments = ["web_search", "--workspace", caller.workspace_id, "--no-enabled"]
    before = ask(caller, script())

    def refused() -> Answer | None:
        answer = ask(caller, script())
        return None if answer.status == 200 else answer

    tools_site.office.do("command", name="set_tool", arguments=arguments)
    after = wait_until(refused, what="the tool to be off")

    assert after is not None
    assert statuses(tools_site.record(before.call_id)) == ["ok"]
    assert (after.status, after.error["code"]) == (400, "plugin_unavailable")


@pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
@pytest.mark.parametrize("model", ["fake-model", CLAUDE])
def test_messages_have_plugins_too(
    tools_site: Site, caller: Caller, model: str, stream: bool
) -> None:
    body = {"model": model, "max_tokens": 1000, "stream": stream}
    said = [{"role": "user", "content": script()}]

    def send(**members: Any) -> Answer:
        raw = json.dumps(body | {"messages": said} | members).encode()
        return caller.ask(path=MESSAGES, raw=raw)

    answer = send(plugins=[SEARCH])
    unknown, picture = send(plugins=[{"id": "no_tool"}]), send(plugins=[{"id": "image"}])

    assert (answer.status, b"hi_web_search" in answer.body) == (200, False)
    assert b"tok9" in answer.body
    record = tools_site.record(answer.call_id)
    assert statuses(record) == ["ok"]
    assert record["charge_nusd"] == upstream_nusd(tools_site, answer.call_id) + SEARCH_NUSD
    assert (unknown.status, picture.status) == (400, 400)
    assert "plugins.0.id" in unknown.body.decode()
