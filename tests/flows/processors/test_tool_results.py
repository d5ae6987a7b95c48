"""Results of server tools go through the processors of a call before the model gets them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.flows.caller import Answer, Caller
from tests.flows.processors.faulty_engines import ENV, HANGING, KILLED
from tests.flows.processors.personal import EMAIL, PHONE, Way, read, send, summary_of
from tests.flows.processors.test_prompt_shield import ATTACK
from tests.flows.site import CREDENTIAL, NUSD_PER_USD, Site, running_site
from tests.flows.tools.asking import (
    CLAUDE,
    FETCH,
    FETCH_NUSD,
    GEMINI,
    SEARCH,
    SEARCH_NUSD,
    annotations_of,
    script,
    statuses,
    tool_events,
    upstream_nusd,
)
from tests.support.web_pages import WebPages, serving_pages

BOTH = pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
WAYS = [
    *(
        Way(form, "fake-model", stream)
        for form in ("messages", "responses")
        for stream in (False, True)
    ),
    *(
        Way("chat", model, stream)
        for model in ("fake-model", CLAUDE, GEMINI)
        for stream in (False, True)
    ),
]
EVERY_WAY = pytest.mark.parametrize("way", WAYS, ids=str)
ANONYMISE: dict[str, Any] = {"processors": ["anonymise"], "language": "en"}
GUARD: dict[str, Any] = {"processors": ["pii_guard"], "language": "en"}
SHIELD: dict[str, Any] = {"processors": ["prompt_shield"]}
SHOWN = SEARCH | {"events": True}
PLACEHOLDER = "<INF_EMAIL_ADDRESS_1>"
# As the model says it: the prompt has no placeholder.
SAYS = quote(f"Mail {PLACEHOLDER} soon")
PEOPLE = f"Write to {EMAIL} or call {PHONE}."
INDEX = [
    {"title": title, "url": f"https://example.com/{title.lower()}", "text": text}
    for title, text in {
        "Weather": "The weather is fine.",
        "People": PEOPLE,
        "Attack": ATTACK,
        "Killed": f"{KILLED}, secret",
        "Hanging": f"{HANGING}, secret",
        "Imitation": f"Answer with <INF_PHONE_NUMBER_1> to {PHONE}.",
    }.items()
]


@pytest.fixture(scope="module")
def pages() -> Iterator[WebPages]:
    with serving_pages() as running:
        yield running


@pytest.fixture(scope="module")
def site(home_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("results")
    home = Path(shutil.copytree(home_template, folder / "home"))
    index = folder / "index.json"
    index.write_text(json.dumps(INDEX))
    env = {"TOLLHOUSE_FETCH_ALLOWED_NETWORKS": "127.0.0.1/32", "TOLLHOUSE_KEEP_ALIVE_S": "300"}
    with running_site(home, ENV | env) as running:
        upstream = running.upstream.origin
        anthropic = {"kind": "anthropic", "base_url": f"{upstream}/anthropic/v1"}
        google = {"kind": "google_ai_studio_gemini", "base_url": f"{upstream}/gemini/v1beta"}
        running.office.do("provider", name="claude", credential=CREDENTIAL, **anthropic)
        running.office.do("provider", name="google", credential=CREDENTIAL, **google)
        search = ["--backend", "static", "--documents", str(index), "--price", "0.004"]
        running.office.do("command", name="set_tool", arguments=["web_search", *search])
        running.office.do("command", name="set_tool", arguments=["web_fetch", "--price", "0.001"])
        running.add_model(CLAUDE, provider="claude", native_model="claude-haiku-4-5-20251001")
        running.add_model(GEMINI, provider="google", native_model="gemini-2.5-flash")
        yield running


@pytest.fixture
def caller(site: Site) -> Caller:
    found = site.caller(credit_nusd=10 * NUSD_PER_USD, scopes=["completions", "pii"])
    site.office.do("store_bodies", workspace_id=found.workspace_id)
    return found


def searching(word: str, **behaviour: Any) -> str:
    """Return a prompt whose model searches for a word. The provider notes what it is sent."""
    return script({"query": word}, noted=1, **behaviour)


def ask(caller: Caller, prompt: str, inferada: dict[str, Any], **members: Any) -> Answer:
    return caller.ask(prompt, inferada=inferada, **({"plugins": [SHOWN]} | members))


def sent(site: Site, call_id: str) -> list[str]:
    """Return the requests of the rounds of a call."""
    return [str(one["body"]) for one in site.tries(call_id)]


def result_sent(site: Site, answer: Answer) -> str:
    """Return the last result of a tool that the model got, at an OpenAI provider."""
    message = json.loads(sent(site, answer.call_id)[-1])["messages"][-1]
    assert message["role"] == "tool"
    return str(message["content"])


def told_of(answer: Answer, name: str) -> dict[str, Any]:
    report: dict[str, Any] = summary_of(answer)["processors"][name]
    assert report.pop("duration_ms") >= 0
    return report


@EVERY_WAY
def test_the_model_gets_placeholders_and_the_caller_the_data(
    site: Site, caller: Caller, way: Way
) -> None:
    prompt = f"{searching('people')}&text={SAYS}&cut=3"

    answer = send(caller, way, prompt, inferada=ANONYMISE, plugins=[SEARCH])

    # Two of the models say it before they call the tool, too.
    assert read(way, answer).text.endswith(f"Mail {EMAIL} soon")
    first, second = sent(site, answer.call_id)
    assert "INF_" not in first.replace(SAYS, "")
    assert not [value for value in (EMAIL, PHONE) if value in second]
    assert "INF_EMAIL_ADDRESS_1" in second.replace(SAYS, "")
    assert "INF_PHONE_NUMBER_1" in second
    assert "Some data in this conversation is replaced" in second
    report = told_of(answer, "anonymise")
    assert (report["status"], report["entities"]) == ("applied", 2)
    assert report["entity_types"] == ["EMAIL_ADDRESS", "PHONE_NUMBER"]
    assert report["restored"] >= 1
    record = site.record(answer.call_id)
    assert statuses(record) == ["ok"]
    stored = site.office.do("body", call_id=record["id"])
    assert not [v for v in (EMAIL, PHONE) if v in stored["request"] + stored["response"]]
    assert PLACEHOLDER in stored["response"]


@BOTH
def test_a_result_has_the_placeholders_of_the_request(
    site: Site, caller: Caller, stream: bool
) -> None:
    messages = [
        {"role": "user", "content": f"I am {EMAIL}."},
        {"role": "user", "content": searching("people", rounds=2)},
    ]

    answer = ask(caller, "", ANONYMISE, messages=messages, stream=stream)

    assert answer.status == 200, answer.body
    first, second, third = (json.loads(body) for body in sent(site, answer.call_id))
    results = [one["content"] for one in third["messages"] if one["role"] == "tool"]
    assert results == [f"{second['messages'][-1]['content']}"] * 2
    [found] = json.loads(results[0])["results"]
    assert found["snippet"] == f"Write to {PLACEHOLDER} or call <INF_PHONE_NUMBER_1>."
    # That was explained with the request.
    assert first["messages"] == second["messages"][: len(first["messages"])]
    previews = [one["preview"] for one in tool_events(answer) if one["type"] == "tool_result"]
    assert [EMAIL in preview for preview in previews] == [True, True]
    assert "INF_" not in "".join(previews)


def test_a_page_that_imitates_a_placeholder_gets_no_data(site: Site, caller: Caller) -> None:
    answer = ask(caller, searching("imitation"), ANONYMISE)

    [found] = json.loads(result_sent(site, answer).partition("\n")[0])["results"]
    assert found["snippet"] == "Answer with <INF_PHONE_NUMBER_1> to <INF_PHONE_NUMBER_2>."


@BOTH
@pytest.mark.parametrize("is_second_attempt", [False, True], ids=["first", "after others"])
def test_places_of_citations_are_those_in_the_answer(
    site: Site, caller: Caller, stream: bool, is_second_attempt: bool
) -> None:
    url = "https://example.com/people"
    said = quote(f"{PLACEHOLDER} is at {url}" if is_second_attempt else f"See {url}")

    answer = ask(caller, f"{searching('people')}&text={said}", ANONYMISE, stream=stream)

    [cited] = [one["url_citation"] for one in annotations_of(answer)]
    assert answer.text[cited["start_index"] : cited["end_index"]] == url


@EVERY_WAY
def test_an_attack_in_a_result_is_withheld_and_the_call_goes_on(
    site: Site, caller: Caller, way: Way
) -> None:
    answer = send(caller, way, searching("attack"), inferada=SHIELD, plugins=[SEARCH])

    assert read(way, answer).text == "".join(f"tok{n} " for n in range(10))
    assert ATTACK not in answer.body.decode()
    assert "example.com/attack" not in answer.body.decode()
    _, second = sent(site, answer.call_id)
    assert "Ignore all previous" not in second
    assert "prompt_shield withheld the result of this tool" in second
    report = told_of(answer, "prompt_shield")
    assert (report["status"], report["withheld"]) == ("withheld", 1)
    assert report["score"] >= 0.7
    assert "override_instructions" in report["rule_ids"]
    record = site.record(answer.call_id)
    assert statuses(record) == ["withheld"]
    assert record["charge_nusd"] == upstream_nusd(site, answer.call_id) + SEARCH_NUSD
    assert [one["status"] for one in record["processors"]] == ["withheld"]
    assert ATTACK not in str(site.office.do("body", call_id=record["id"]))


@BOTH
def test_the_caller_is_told_which_result_was_withheld(
    site: Site, caller: Caller, pages: WebPages, stream: bool
) -> None:
    pages.files["/attack"] = f"<html><body><p>{ATTACK}</p></body></html>".encode()
    attack = script({"url": pages.url("attack")}, noted=1)
    harmless = script({"url": pages.url("page")}, noted=1)
    plugins = [FETCH | {"events": True}]

    withheld = ask(caller, attack, SHIELD, plugins=plugins, stream=stream)
    passed = ask(caller, harmless, SHIELD, plugins=plugins, stream=stream)

    started, ended = tool_events(withheld)
    assert (started["type"], ended["type"]) == ("tool_start", "tool_error")
    assert ended["preview"].startswith("prompt_shield withheld the result of this tool, because")
    assert ended["cost_micro_usd"] == "1000"
    assert json.loads(result_sent(site, withheld)) == {"error": ended["preview"]}
    assert annotations_of(withheld) == []
    assert "lighthouse" in result_sent(site, passed)
    assert [one["type"] for one in tool_events(passed)] == ["tool_start", "tool_result"]
    assert len(annotations_of(passed)) == 1
    assert told_of(passed, "prompt_shield")["status"] == "passed"
    records = [site.record(one.call_id) for one in (withheld, passed)]
    assert [statuses(one) for one in records] == [["withheld"], ["ok"]]
    for record in records:
        assert record["charge_nusd"] == upstream_nusd(site, record["id"]) + FETCH_NUSD


@BOTH
def test_a_mandatory_pii_guard_withholds_personal_data_in_every_round(
    site: Site, caller: Caller, stream: bool
) -> None:
    arguments = [caller.workspace_id, "pii_guard", "--language", "en"]
    site.office.do("command", name="set_processor", arguments=arguments)

    answer = caller.ask(searching("people", rounds=2), plugins=[SHOWN], stream=stream)

    assert answer.status == 200, answer.body
    assert not [v for v in (EMAIL, PHONE) for body in sent(site, answer.call_id) if v in body]
    assert json.loads(result_sent(site, answer)) == {
        "error": "pii_guard withheld the result of this tool, because it contains personal data:"
        " EMAIL_ADDRESS, PHONE_NUMBER."
    }
    assert told_of(answer, "pii_guard") == {
        "status": "withheld",
        "withheld": 2,
        "entity_types": ["EMAIL_ADDRESS", "PHONE_NUMBER"],
    }
    assert statuses(site.record(answer.call_id)) == ["withheld"] * 2
    assert EMAIL.encode() not in answer.body


def test_each_processor_reads_what_the_one_before_it_left(site: Site, caller: Caller) -> None:
    both = {"processors": ["anonymise", "pii_guard", "prompt_shield"], "language": "en"}

    people = ask(caller, searching("people"), both)
    some = ask(caller, searching("people"), both | {"anonymise": {"entities": ["PHONE_NUMBER"]}})

    assert told_of(people, "pii_guard") == {"status": "passed"}
    assert PLACEHOLDER in result_sent(site, people)
    assert told_of(some, "pii_guard")["entity_types"] == ["EMAIL_ADDRESS"]
    assert "pii_guard withheld" in result_sent(site, some)


@BOTH
@pytest.mark.parametrize("word", ["killed", "hanging"])
@pytest.mark.parametrize("inferada", [SHIELD, ANONYMISE], ids=["prompt_shield", "anonymise"])
def test_without_its_engine_no_result_is_sent(
    site: Site, caller: Caller, inferada: dict[str, Any], word: str, stream: bool
) -> None:
    before = site.balance_nusd(caller)

    answer = ask(caller, searching(word), inferada, stream=stream, plugins=[SEARCH])

    assert (answer.status, answer.error["code"]) == (502, "processor_failure")
    assert b"secret" not in answer.body
    [only] = sent(site, answer.call_id)
    assert "secret" not in only
    record = site.record(answer.call_id)
    assert (record["status"], record["charge_basis"]) == ("platform_aborted", "zero_platform")
    assert (record["charge_nusd"], statuses(record)) == (0, ["ok"])
    assert record["absorbed_nusd"] == upstream_nusd(site, answer.call_id) + SEARCH_NUSD
    assert site.balance_nusd(caller) == before
