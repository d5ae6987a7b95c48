"""A page's own script in a real browser, on both mounts: page.js calls, this judges."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.clients.conftest import Keys
from tests.clients.witnesses import (
    assert_left,
    assert_prompt_paid,
    calls_begun,
    wait_for_call,
)
from tests.dashboard.browser import running_chromium, watched_page
from tests.support.require import require_binary
from tests.support.servers import GatewayServer, UpstreamServer

# Chromium hands on what came with the head up to 4 KB, head included, whatever the server does:
# a stream that comes in bulk and is longer would be torn by the browser itself.
FEW = 8
SCRIPT = (Path(__file__).parent / "page.js").read_text()
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}
FORECAST = {
    "type": "json_schema",
    "json_schema": {
        "name": "forecast",
        "schema": {
            "type": "object",
            "properties": {"place": {"type": "string"}},
            "required": ["place"],
        },
    },
}


@dataclass(frozen=True)
class Visitor:
    """A page that is open in a browser, and where its script calls."""

    page: Page
    address: str
    key: str

    def does(self, what: str, content: str, *, key: str = "", **more: Any) -> Any:
        """Return what a function of page.js came to. more: members of the call and of its body."""
        own = {name: more.pop(name) for name in ("leaves_after", "headers") if name in more}
        body = {"model": "fake-model", "messages": [{"role": "user", "content": content}]}
        call = {"address": self.address, "key": key or self.key, "body": body | more} | own
        return self.page.evaluate(f"call => window.model.{what}(call)", call)

    def asks(self, content: str, **more: Any) -> Any:
        return self.does("ask", content, **more)

    def streams(self, content: str, **more: Any) -> Any:
        return self.does("stream", content, stream=True, **more)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for the tests of this file, each of which opens a profile of its own."""
    with running_chromium(require_binary("chromium", package="chromium")) as running:
        yield running


@pytest.fixture
def visitor(browser: Browser, base_url: str, shared_gateway: GatewayServer) -> Iterator[Visitor]:
    """A page of the gateway's own, where scripts may call it."""
    with watched_page(browser, shared_gateway) as watched:
        watched.open("/sign-in")
        watched.page.evaluate(SCRIPT)
        yield Visitor(watched.page, f"{base_url}/chat/completions", shared_gateway.key)


def test_an_answer_is_read(visitor: Visitor) -> None:
    seen = visitor.asks("script:tokens=5")

    assert seen["status"] == 200
    assert len(seen["answer"]["choices"][0]["message"]["content"].split()) == 5


def test_a_loop_that_joins_no_reads_loses_nothing(visitor: Visitor) -> None:
    letters = "Grüße,+日本語+🙂🙃"

    at_once = visitor.streams(f"script:tokens={FEW}")
    cut = visitor.streams(f"script:tokens={FEW}&chunk_bytes=7")
    paced = visitor.streams(f"script:tokens={FEW}&delay_ms=2")
    in_letters = visitor.streams(f"script:text={letters}&chunk_bytes=1")

    assert [len(seen["text"].split()) for seen in (at_once, cut, paced)] == [FEW] * 3
    assert in_letters["text"] == letters.replace("+", " ")
    assert at_once["usage"]["completion_tokens"] == FEW
    assert at_once["finish"] == "stop"


def test_a_loop_that_expects_a_choice_in_each_event_may_ask_for_usage_as_bud_clients_do(
    visitor: Visitor,
) -> None:
    seen = visitor.streams(
        f"script:tokens={FEW}",
        headers={"X-Compat-Profile": "bud"},
        stream_options={"include_usage": True},
    )

    assert len(seen["text"].split()) == FEW
    assert seen["usage"]["completion_tokens"] == FEW


def test_a_tool_is_called(visitor: Visitor) -> None:
    buffered = visitor.asks("script:tools=1", tools=[WEATHER])
    streamed = visitor.streams("script:tools=1", tools=[WEATHER])

    [call] = buffered["answer"]["choices"][0]["message"]["tool_calls"]
    assert streamed["finish"] == "tool_calls"
    assert streamed["calls"] == [call["function"]]
    assert json.loads(call["function"]["arguments"]) == {"city": "Paris"}


def test_an_answer_fits_the_schema(visitor: Visitor) -> None:
    buffered = visitor.asks("Paris", response_format=FORECAST)
    streamed = visitor.streams("Paris", response_format=FORECAST)

    text = buffered["answer"]["choices"][0]["message"]["content"]
    assert json.loads(text) == {"place": "tok0"}
    assert streamed["text"] == text


def test_failures_are_told(visitor: Visitor, keys: Keys) -> None:
    poor = visitor.asks("Hello", key=keys.poor)
    failed = visitor.asks("script:fail=500", stream=True)
    broken = visitor.streams("script:tokens=9&reset_after=3")

    assert (poor["status"], poor["answer"]["error"]["code"]) == (402, "insufficient_credits")
    assert (failed["status"], failed["answer"]["error"]["code"]) == (502, "provider_unavailable")
    assert (broken["text"], broken["finish"]) == ("tok0 tok1 tok2 ", None)
    assert broken["error"]["code"] == "provider_unavailable"


def test_a_page_that_leaves_ends_its_calls_everywhere(
    visitor: Visitor, shared_gateway: GatewayServer, upstream: UpstreamServer
) -> None:
    streamed = visitor.streams("script:tokens=9999&delay_ms=100", leaves_after=5)
    before = calls_begun(upstream)
    visitor.does("begin", "script:hang")
    buffered_id = wait_for_call(upstream, before)
    buffered = visitor.page.evaluate("window.model.leave()")

    assert (streamed["left"], buffered) == ("AbortError", "AbortError")
    assert assert_left(shared_gateway, upstream, streamed["id"])["tokens_completion"] >= 5
    assert_prompt_paid(assert_left(shared_gateway, upstream, buffered_id))
