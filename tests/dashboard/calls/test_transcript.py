"""Stored bodies as people read them: streams put together, whatever was stored."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import Browser, expect

from dashboard.calls.transcript import FORMATS, read_request, read_response
from gateway.core.events import ChatAnswer, Choice, Delta, Finish
from gateway.core.money import Usage
from gateway.core.profiles import ALL, Profile
from gateway.core.receipt import Receipt
from gateway.endpoints.base import AnswerForm
from gateway.endpoints.chat_completions.write import AnswerWriter, ChunkWriter
from tests.conftest import add_fake_model
from tests.dashboard.browser import sign_in, watched_page
from tests.flows.caller import Caller
from tests.support.canary import LOOPBACK, listening_canary
from tests.support.servers import GatewayServer, UpstreamServer, run_manage
from tests.support.waiting import wait_until

TOOL = {"index": 0, "id": "call_1", "type": "function"}
MESSAGE: dict[str, Any] = {
    "role": "assistant",
    "content": "Hello, world",
    "reasoning": "They greet.",
    "tool_calls": [{**TOOL, "function": {"name": "look_up", "arguments": '{"city":"Oslo"}'}}],
}
RECEIPT = Receipt(
    status="ok",
    charge_basis="usage",
    usage=Usage(12, 34, 5, 6),
    charge_nusd=1,
    total_us=1000,
    admit_us=1,
    upstream_us=900,
)


def test_values_are_written_as_people_do() -> None:
    request = read_request('{"model": "m", "stream": true, "messages": []}')
    answer = read_response('{"choices": [], "usage": {"total_tokens": 4200, "cost": 8.1e-06}}')

    assert request.facts == [("model", "m"), ("stream", "true")]
    assert answer.facts == [("total tokens", "4,200"), ("cost", "0.0000081")]


def stored_stream(profile: Profile, *, whole: bool = True) -> str:
    """Return what is stored of a stream of MESSAGE, as the gateway writes it."""
    writer = ChunkWriter(
        AnswerForm(answer_id="chatcmpl-1", call_id="1", model="m", created=1, profile=profile),
        include_usage=True,
    )
    pieces: list[dict[str, Any]] = [
        {"reasoning": "They "},
        {"reasoning": "greet."},
        {"content": "Hello, "},
        {"content": "world"},
        {"tool_calls": [{**TOOL, "function": {"name": "look_up", "arguments": ""}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '{"city":'}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '"Oslo"}'}}]},
    ]
    frames = [writer.open(), b": keep-alive\n\n"]
    frames += [writer.write(Delta(0, piece)) for piece in pieces]
    if whole:
        writer.write(Finish(0, "tool_calls"))
        frames += writer.close(RECEIPT)
    return b"".join(frames).decode()


def stored_answer(profile: Profile) -> str:
    form = AnswerForm(answer_id="chatcmpl-1", call_id="1", model="m", created=1, profile=profile)
    answer = ChatAnswer((Choice(0, MESSAGE, "tool_calls"),), None)
    return AnswerWriter(form).write_answer(answer, RECEIPT).decode()


@pytest.mark.parametrize("profile", ALL, ids=lambda profile: profile.name)
@pytest.mark.parametrize("form", [stored_stream, stored_answer])
def test_every_form_of_an_answer_reads_the_same(profile: Profile, form: Any) -> None:
    said = read_response(form(profile))

    [message] = said.messages
    assert (message.role, message.text) == ("assistant", "Hello, world")
    assert message.reasoning == "They greet."
    [call] = message.tool_calls
    assert (call.name, call.id, json.loads(call.arguments)) == (
        "look_up",
        "call_1",
        {"city": "Oslo"},
    )
    assert message.note == "finish reason tool_calls"
    facts = dict(said.facts)
    assert (facts["prompt tokens"], facts["completion tokens"]) == ("12", "34")
    assert facts["reasoning tokens"] == "6"
    assert (said.error, said.is_cut) == ("", False)
    assert said.is_stream == (form is stored_stream)


def test_a_stream_that_was_cut_off_shows_what_there_is() -> None:
    text = stored_stream(ALL[0], whole=False)

    said = read_response(text[: text.rindex("data:") + 40])

    assert said.is_cut
    assert said.messages[0].text == "Hello, world"
    assert said.messages[0].tool_calls[0].arguments == '{"city":'


@pytest.mark.parametrize(
    "text",
    [
        '{"error": {"message": "Too much", "code": "provider_timeout"}}',
        'data: {"error": {"message": "Too much", "type": "x", "code": "provider_timeout"}}\n\n'
        "data: [DONE]\n\n",
    ],
)
def test_an_error_is_shown_in_words(text: str) -> None:
    assert read_response(text).error == "provider_timeout: Too much"


def test_a_request_is_its_messages() -> None:
    parts = [{"type": "text", "text": "Look"}, {"type": "image_url", "image_url": {"url": "data:"}}]
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": parts},
        MESSAGE,
        {"role": "tool", "tool_call_id": "call_1", "content": "rain"},
        {"role": "assistant", "function_call": {"name": "old", "arguments": "{"}},
    ]
    tools = [{"type": "function", "function": {"name": "look_up"}}]

    said = read_request(json.dumps({"model": "m", "messages": messages, "tools": tools}))

    assert [message.role for message in said.messages] == [each["role"] for each in messages]
    assert (said.messages[1].text, said.messages[1].parts) == ("Look", ["image_url"])
    assert said.messages[3].note == "call_1"
    assert (said.messages[4].tool_calls[0].name, said.messages[4].tool_calls[0].arguments) == (
        "old",
        "{",
    )
    assert dict(said.facts) == {"model": "m", "tools": "look_up"}


WORDS = """
choices delta message messages content text tool_calls function arguments name index error role
usage type system thinking partial_json content_block stop_reason tool_result tool_use input
instructions output item item_id output_index response summary encrypted_content call_id prompt
suffix data voice instructions file filename bytes transcript.text.done language duration
embedding b64_json url results categories flagged documents document query relevance_score
response.output_text.delta response.completed response.output_item.added message_delta reasoning
"""
NAMES = st.sampled_from(WORDS.split())
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | NAMES | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(NAMES | st.text(), inner),
    max_leaves=12,
)


@pytest.mark.parametrize("endpoint", FORMATS)
@given(body=st.dictionaries(NAMES, JSON))
def test_nothing_that_may_be_stored_breaks_the_page(endpoint: str, body: dict[str, Any]) -> None:
    text = json.dumps(body)
    for said in (
        read_response(text, endpoint),
        read_response(f"data: {text}\n\n" * 2, endpoint),
        read_response(f"[{text}]", endpoint),
        read_request(text, endpoint),
    ):
        for message in said.messages:
            f"{message}{said.facts}{said.error}".encode()


KEEP_BODIES = """
from accounts.models import Workspace
from accounts.services import set_stores_bodies
set_stores_bodies(Workspace.objects.get(), stores_bodies=True, actor="tests")
"""


@pytest.mark.slow
def test_a_streamed_answer_is_read_as_one_message_with_the_raw_stream_beside(
    browser: Browser, gateway: GatewayServer
) -> None:
    run_manage(gateway.home, "shell", "-c", KEEP_BODIES)
    caller = Caller(gateway.port, gateway.key, "", "", gateway.model)
    with watched_page(browser, gateway) as watched:
        sign_in(watched, gateway.email, gateway.password)
        page = watched.page

        def find_stored() -> str:
            """Return what a call was told whose body is kept: the server obeys in a moment."""
            answer = caller.stream("Count to ten.")
            watched.open(f"/calls/{answer.call_id.removeprefix('chatcmpl-')}")
            return answer.text if page.locator(".said").count() else ""

        text = wait_until(find_stored, what="a stored body")
        request, response = page.locator(".said").first, page.locator(".said").last
        expect(request.locator(".said-text")).to_have_text("Count to ten.")
        expect(response.locator(".said-message")).to_have_count(1)
        assert response.locator(".said-text").inner_text().split() == text.split()
        raw = response.locator(".said-raw pre")
        expect(raw).to_be_hidden()
        response.get_by_text("Raw stream").click()
        expect(raw).to_contain_text("data: [DONE]")
        assert watched.check("transcript") == []


@pytest.mark.slow
def test_what_a_model_says_makes_no_browser_ask_anybody(
    browser: Browser, gateway: GatewayServer, upstream: UpstreamServer
) -> None:
    run_manage(gateway.home, "shell", "-c", KEEP_BODIES)
    add_fake_model(gateway, upstream)
    caller = Caller(gateway.port, gateway.key, "", "", "fake-model")
    with watched_page(browser, gateway) as watched, listening_canary() as canary:
        sign_in(watched, gateway.email, gateway.password)
        page = watched.page
        url = f"http://{LOOPBACK}:{canary.port}/leak"
        said = f"![a]({url}) [b]({url}) <img src='{url}'> <link rel='preload' href='{url}'>"
        said += f" <style>@import '{url}'</style> <iframe src='{url}'></iframe>"

        def is_stored() -> bool:
            """Make a call whose prompt and answer are this: the server obeys in a moment."""
            answer = caller.ask("script:" + urlencode({"text": said}))
            watched.open(f"/calls/{answer.call_id.removeprefix('chatcmpl-')}")
            return page.locator(".said").count() > 0

        wait_until(is_stored, what="a stored body")
        shown = page.locator(".said").last.locator(".said-text")
        expect(shown).to_contain_text(f"![a]({url})")
        expect(shown).to_contain_text("<iframe")
        assert page.locator(".said img, .said a, .said iframe, .said style").count() == 0
        assert watched.check("leaks") == []
