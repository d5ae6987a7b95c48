"""Server tools in /v1/messages, through Anthropic's SDK."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from anthropic import Anthropic

from gateway.endpoints.messages.blocks import BlockStream
from tests.flows.caller import Caller
from tests.flows.messages.asking import MESSAGES
from tests.flows.site import Site
from tests.flows.tools.asking import (
    CLAUDE,
    GEMINI,
    SEARCH,
    SEARCH_NUSD,
    script,
    statuses,
    upstream_nusd,
)

URL = "https://example.com/weather"


@pytest.fixture
def client(caller: Caller) -> Iterator[Anthropic]:
    address = f"http://127.0.0.1:{caller.port}"
    with Anthropic(base_url=address, api_key=caller.secret, max_retries=0) as opened:
        yield opened


@pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
@pytest.mark.parametrize("model", ["fake-model", CLAUDE, GEMINI])
def test_the_sdk_reads_events_citations_and_costs(
    tools_site: Site, client: Anthropic, model: str, stream: bool
) -> None:
    asked: Any = {"model": model, "max_tokens": 1000}
    asked["messages"] = [{"role": "user", "content": script(rounds=2)}]
    asked["extra_body"] = {"plugins": [SEARCH], "hi_tool_events": True}
    if stream:
        with client.messages.stream(**asked) as opened:
            kinds = [event.type for event in opened]
            message: Any = opened.get_final_message()
        assert "citation" in kinds
        assert (kinds[0], kinds[-1]) == ("message_start", "message_stop")
    else:
        message = client.messages.create(**asked)
        assert [one["type"] for one in message.hi_tool_events] == ["tool_start", "tool_result"] * 2
        assert message.tool_costs_micro_usd == {"web_search": "8000"}

    [block] = message.content
    assert block.text == "".join(f"tok{n} " for n in range(10))
    [cited] = block.citations
    assert (cited.type, cited.url, cited.title) == ("web_search_result_location", URL, "Weather")
    record = tools_site.record(message.id.removeprefix("msg_"))
    assert statuses(record) == ["ok", "ok"]
    assert record["charge_nusd"] == upstream_nusd(tools_site, record["id"]) + 2 * SEARCH_NUSD
    # What was cited by the gateway can be sent back, and goes to no provider.
    turns = [
        *asked["messages"],
        {"role": "assistant", "content": [block.model_dump()]},
        {"role": "user", "content": "script:echo"},
    ]
    again = client.messages.create(model=model, max_tokens=8_000, messages=turns)
    assert "web_search_result_location" not in str(again.content)


def test_a_stream_tells_events_in_pings_and_sums_them_at_its_end(caller: Caller) -> None:
    said = [{"role": "user", "content": script()}]
    body = {"model": "fake-model", "max_tokens": 100, "stream": True, "messages": said}
    raw = json.dumps(body | {"plugins": [SEARCH | {"events": True}]}).encode()

    answer = caller.ask(path=MESSAGES, raw=raw)

    frames = [frame.split("\ndata: ") for frame in answer.frames]
    events = [(name.removeprefix("event: "), json.loads(data)) for name, data in frames]
    assert events[0][0] == "message_start"
    told = [data["hi_tool_event"] for name, data in events if "hi_tool_event" in data]
    assert {name for name, data in events if "hi_tool_event" in data} == {"ping"}
    assert [one["type"] for one in told] == ["tool_start", "tool_result"]
    [end] = [data for name, data in events if name == "message_delta"]
    assert end["hi_tool_events"] == told
    assert end["tool_costs_micro_usd"] == {"web_search": "4000"}


def test_citations_that_come_after_the_text_are_of_its_block() -> None:
    """What follows the text may have ended its block: the model thinks on, and says no more."""
    cited = {"type": "url_citation", "url_citation": {"url": URL, "title": "Weather"}}
    blocks = BlockStream()
    deltas: list[dict[str, Any]] = [
        {"content": "See."},
        {"reasoning": "Well"},
        {"annotations": [cited]},
    ]

    frames = b"".join(map(blocks.add, deltas)) + blocks.close()

    events = [json.loads(one.split("data: ")[1]) for one in frames.decode().split("\n\n") if one]
    [told] = [one for one in events if one.get("delta", {}).get("type") == "citations_delta"]
    assert (told["index"], told["delta"]["citation"]["url"]) == (0, URL)
    assert BlockStream().add(deltas[-1]) == b""
