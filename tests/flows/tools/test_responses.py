"""Server tools in /v1/responses: by the type of a tool and as plugins, through OpenAI's SDK."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from openai import OpenAI

from tests.flows.caller import Caller
from tests.flows.responses.asking import events_of, respond
from tests.flows.site import Site
from tests.flows.tools.asking import (
    CLAUDE,
    SEARCH,
    SEARCH_NUSD,
    script,
    statuses,
    upstream_nusd,
)

WEB: Any = {"type": "web_search"}
# Of the caller's; one has a name of the gateway's.
OWN: Any = {"type": "function", "name": "own", "parameters": {"type": "object", "properties": {}}}
TAKEN = OWN | {"name": "hi_web_search"}
CUSTOM = {"type": "custom", "name": "own"}
TOKENS = "".join(f"tok{n} " for n in range(10))


@pytest.fixture
def client(caller: Caller) -> Iterator[OpenAI]:
    address = f"http://127.0.0.1:{caller.port}/v1"
    with OpenAI(base_url=address, api_key=caller.secret, max_retries=0) as opened:
        yield opened


@pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
@pytest.mark.parametrize("model", ["fake-model", CLAUDE])
def test_the_sdk_reads_answers_and_streams_with_tool_events(
    tools_site: Site, client: OpenAI, model: str, stream: bool
) -> None:
    asked: Any = {"model": model, "input": script(rounds=2, reasoning=2)}
    asked |= {"tools": [WEB], "extra_body": {"hi_tool_events": True}}
    kinds: list[str] = []
    said = ""
    if stream:
        with client.responses.stream(**asked) as events:
            for event in events:
                kinds.append(event.type)
                said += event.delta if event.type == "response.output_text.delta" else ""
            response: Any = events.get_final_response()
        assert said == response.output_text
        assert kinds.count("keepalive") == 4
        assert (kinds[0], kinds[-1]) == ("response.created", "response.completed")
    else:
        response = client.responses.create(**asked)

    assert response.output_text == TOKENS
    events_told = response.hi_tool_events
    assert [one["type"] for one in events_told] == ["tool_start", "tool_result"] * 2
    assert [one["seq"] for one in events_told] == [1, 2, 3, 4]
    assert {item.type for item in response.output} == {"reasoning", "message"}
    [part] = response.output[-1].content
    [cited] = part.annotations
    assert (cited.type, cited.url) == ("url_citation", "https://example.com/weather")
    assert cited.start_index == cited.end_index == len(part.text)
    record = tools_site.record(response.id.removeprefix("resp_"))
    assert statuses(record) == ["ok", "ok"]
    sums = tools_site.tries(str(record["id"]))
    assert response.usage.input_tokens == sum(one["prompt_tokens"] for one in sums)
    assert record["charge_nusd"] == upstream_nusd(tools_site, record["id"]) + 2 * SEARCH_NUSD
    assert round(response.usage.cost * 10**9) == record["charge_nusd"]


def test_citations_are_places_in_the_text_that_has_them(caller: Caller) -> None:
    """The text of the first round is a message of its own, where reasoning follows."""
    url = "https://example.com/weather"
    answer = respond(caller, script(text=f"See {url}", reasoning=1), tools=[WEB], stream=True)

    events = events_of(answer)
    response = events[-1]["response"]
    [message] = [item for item in response["output"] if item["type"] == "message"]
    [part] = message["content"]
    [cited] = part["annotations"]
    assert part["text"][cited["start_index"] : cited["end_index"]] == url
    [told] = [one for one in events if one["type"].endswith("annotation.added")]
    assert told["annotation"] == cited


@pytest.mark.parametrize(
    "members",
    [
        {"tools": [{"type": "web_search_preview", "search_context_size": "low"}]},
        {"tools": [{"type": "web", "events": True, "max_results": 1}]},
        {"plugins": [SEARCH]},
        {"tools": [WEB], "tool_choice": {"type": "web_search"}},
        {"tools": [WEB], "tool_choice": "required", "max_tool_calls": 1},
    ],
)
def test_a_search_has_several_names(
    tools_site: Site, caller: Caller, members: dict[str, Any]
) -> None:
    answer = respond(caller, script(), **members)

    assert answer.status == 200, answer.body
    assert statuses(tools_site.record(answer.call_id)) == ["ok"]
    assert ("hi_tool_events" in answer.json) == ("events" in members.get("tools", [{}])[0])


def test_a_caller_limits_the_runs_of_tools(tools_site: Site, caller: Caller) -> None:
    answer = respond(caller, script(rounds=4), tools=[WEB], max_tool_calls=2)

    assert (answer.status, statuses(tools_site.record(answer.call_id))) == (200, ["ok"] * 2)


def test_a_tool_that_is_not_allowed_is_not_offered(tools_site: Site, caller: Caller) -> None:
    allowed: Any = {"type": "allowed_tools", "mode": "auto"}
    only_own = allowed | {"tools": [{"type": "function", "name": "own"}]}
    only_web = allowed | {"tools": [WEB]}

    mine = respond(caller, script(), tools=[WEB, OWN], tool_choice=only_own)
    gateways = respond(caller, script(), tools=[WEB, OWN], tool_choice=only_web)

    assert [item["type"] for item in mine.json["output"]] == ["function_call"]
    assert statuses(tools_site.record(gateways.call_id)) == ["ok"]


def test_a_response_with_tools_can_be_gone_on_from(tools_site: Site, caller: Caller) -> None:
    first = respond(caller, script(), tools=[WEB], hi_tool_events=True).json
    history = [{"role": "user", "content": "Well?"}, *first["output"]]

    second = respond(caller, [*history, {"role": "user", "content": "script:tokens=1"}])

    assert second.status == 200, second.body


@pytest.mark.parametrize(
    ("members", "code", "param"),
    [
        ({"tools": [{"type": "image"}]}, "plugin_unavailable", "tools[0].type"),
        ({"tools": [WEB, {"type": "web"}]}, "invalid_request", "tools[1].type"),
        ({"tools": [WEB, OWN, OWN]}, "invalid_request", "tools[2].name"),
        ({"tools": [WEB, TAKEN]}, "invalid_request", "tools[1].name"),
        ({"tools": [WEB, CUSTOM], "model": CLAUDE}, "unsupported_parameter", "tools[1]"),
        ({"tools": [OWN, {"type": "image"}]}, "plugin_unavailable", "tools[1].type"),
        ({"tools": [WEB], "plugins": [SEARCH]}, "invalid_request", "plugins[0].id"),
        ({"tools": [WEB | {"max_results": 11}]}, "invalid_request", "tools[0].max_results"),
        ({"tools": [WEB | {"filters": {}}]}, "invalid_request", "tools[0].filters"),
        (
            {"tools": [WEB | {"search_context_size": 5}]},
            "invalid_request",
            "tools[0].search_context_size",
        ),
        ({"plugins": [{"id": "no_tool"}]}, "plugin_unavailable", "plugins[0].id"),
        (
            {"tools": [WEB], "tool_choice": {"type": "datetime"}},
            "invalid_request",
            "tool_choice.type",
        ),
        ({"tools": [WEB], "model": "no-tools"}, "unsupported_parameter", "tools[0]"),
    ],
)
def test_what_cannot_run_is_refused_where_it_stands(
    caller: Caller, members: dict[str, Any], code: str, param: str
) -> None:
    answer = respond(caller, "hello", **members)

    assert (answer.status, answer.error["code"]) == (400, code), answer.body
    assert answer.error["param"] == param
