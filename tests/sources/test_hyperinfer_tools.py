"""HyperInfer: files by id, plugins and their events, and models of other dialects: of items S3-02,
S3-08, S3-21 and S3-22."""

from __future__ import annotations

from typing import Any

import pytest

from tests.flows.caller import DONE, Answer
from tests.flows.site import CREDENTIAL, Site
from tests.flows.stored_files.asking import SCOPES, uploaded
from tests.flows.tools.asking import script, tool_events
from tests.sources.product import Client, client_of
from tests.sources.test_hyperinfer_request import WEATHER, assert_refused, user
from tests.support.pdf import write_pdf
from tests.support.web_pages import serving_pages

PATH = "/api/v1/chat/completions"
BOTH = pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
DIALECTS = {
    "anthropic/claude-of-hyperinfer": ("anthropic", "anthropic/v1", "claude-haiku-4-5-20251001"),
    "google/gemini-of-hyperinfer": ("google_ai_studio_gemini", "gemini/v1beta", "gemini-2.5-flash"),
}


@pytest.fixture
def storing(site: Site) -> Client:
    """A client that may store files."""
    made = client_of(site, "hyperinfer", path=PATH, scopes=SCOPES)
    return made.with_(model="anthropic/claude-sonnet-4.5")


@BOTH
@pytest.mark.parametrize("model", DIALECTS)
def test_S3_02_models_of_other_dialects_are_translated(
    site: Site, hyperinfer: Client, model: str, stream: bool
) -> None:
    kind, path, native_model = DIALECTS[model]
    provider = f"{kind}-of-hyperinfer"
    base_url = f"{site.upstream.origin}/{path}"
    site.office.do("provider", name=provider, kind=kind, base_url=base_url, credential=CREDENTIAL)
    site.add_model(model, provider=provider, native_model=native_model)
    client = hyperinfer.with_(model=model)

    told = client.ask("script:tokens=3", stream=stream)
    called = client.ask("script:tools=1", stream=stream, tools=[WEATHER], tool_choice="auto")

    assert (text_of(told), finish_of(told)) == ("tok0 tok1 tok2 ", "stop")
    assert finish_of(called) == "tool_calls"
    assert b"get_weather" in called.body
    if stream:
        assert told.events[-1] == DONE
        assert told.chunks[-1]["usage"]["completion_tokens"] == 3
    else:
        assert told.json["id"].startswith("gen-")
        assert told.json["usage"]["completion_tokens"] == 3


def test_S3_08_files_by_id(storing: Client) -> None:
    pdf = write_pdf("Hello")
    block = {"type": "file", "file": {"file_id": uploaded(storing, pdf, filename="a.pdf")}}

    [file, _] = storing.sent(messages=user(block))["messages"][0]["content"]

    assert file["file"]["filename"] == "a.pdf"
    assert file["file"]["file_data"].startswith("data:application/pdf;base64,")
    unknown = user({"type": "file", "file": {"file_id": "file-none"}})
    assert_refused(storing, "messages[0].content[0]", messages=unknown)


@BOTH
def test_S3_21_plugins_are_tools_that_run_here(hyperinfer: Client, stream: bool) -> None:
    with serving_pages() as pages:
        pages.files["/two.pdf"] = write_pdf("First page", "Second page")
        wanted = {
            "datetime": {"timezone": "UTC"},
            "web_fetch": {"url": pages.url("page")},
            "pdf": {"url": pages.url("two.pdf")},
            "web_search": {"query": "weather"},
        }
        for plugin, arguments in wanted.items():
            answer = hyperinfer.ask(
                script(arguments), plugins=[{"id": plugin, "events": True}], stream=stream
            )
            events = tool_events(answer)
            assert [event["type"] for event in events] == ["tool_start", "tool_result"], plugin
            assert {event["plugin"] for event in events} == {plugin}
            assert finish_of(answer) == "stop"


@BOTH
def test_S3_22_events_are_told_where_they_are_wanted(hyperinfer: Client, stream: bool) -> None:
    def events(wish: bool | None, **plugin: Any) -> int:
        plugins = [{"id": "datetime", **plugin}]
        prompt = script({"timezone": "UTC"})
        answer = hyperinfer.ask(prompt, plugins=plugins, hi_tool_events=wish, stream=stream)
        assert answer.status == 200, answer.body
        return len(tool_events(answer))

    assert (events(True), events(False), events(None)) == (2, 0, 0)
    assert (events(None, events=True), events(True, events=False)) == (2, 0)


def text_of(answer: Answer) -> str:
    assert answer.status == 200, answer.body
    if not answer.headers["content-type"].startswith("text/event-stream"):
        return str(answer.json["choices"][0]["message"]["content"])
    deltas = [choice["delta"] for chunk in answer.chunks for choice in chunk["choices"]]
    return "".join(delta.get("content") or "" for delta in deltas)


def finish_of(answer: Answer) -> str:
    chunks = answer.chunks if "event-stream" in answer.headers["content-type"] else [answer.json]
    [reason] = [
        one["finish_reason"] for chunk in chunks for one in chunk["choices"] if one["finish_reason"]
    ]
    return str(reason)
