"""reasoning_details on their way between callers and providers of OpenAI's format."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.fakes.dialect import SIGNATURE
from tests.flows.caller import Answer, Caller
from tests.flows.site import CREDENTIAL, INPUT_NUSD, OUTPUT_NUSD, Site

BOTH = pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
FORMAT = "anthropic-claude-v1"
TEXT: dict[str, Any] = {"type": "reasoning.text", "text": "Hm.", "format": FORMAT, "index": 0}
SIGNED = TEXT | {"signature": SIGNATURE}
HIDDEN = {"type": "reasoning.encrypted", "data": "c2VjcmV0", "format": FORMAT, "index": 1}
SUMMARY = {"type": "reasoning.summary", "summary": "Thinks.", "id": None, "index": 2}
ECHO = {"role": "user", "content": "script:echo"}
TAKERS, OTHERS = ("openrouter",), ("openai", "mistral", "deepseek")


@pytest.fixture(scope="module")
def kinds_site(site: Site) -> Site:
    for kind in (*TAKERS, *OTHERS):
        provider = f"details-{kind}"
        site.office.do(
            "provider",
            name=provider,
            kind=kind,
            base_url=f"{site.upstream.origin}/{kind}/v1",
            credential=CREDENTIAL,
        )
        site.add_model(provider, provider=provider, native_model="native")
    return site


@pytest.fixture
def caller(kinds_site: Site) -> Caller:
    return kinds_site.caller().with_(model="details-openrouter")


def said(*details: Any, **more: Any) -> list[dict[str, Any]]:
    """Return a conversation whose second message has these details."""
    message = {"role": "assistant", "content": "Yes", "reasoning_details": [*details]} | more
    return [{"role": "user", "content": "Well?"}, message, ECHO]


def sent(answer: Answer) -> list[dict[str, Any]]:
    assert answer.status == 200, answer.body
    messages: list[dict[str, Any]] = json.loads(answer.echo["body_text"])["messages"]
    return messages


@BOTH
def test_they_come_through(kinds_site: Site, caller: Caller, stream: bool) -> None:
    script = "script:reasoning=2&tokens=3&details&reasoning_field=reasoning"

    answer = caller.ask(script, stream=stream)

    assert answer.status == 200, answer.body
    if stream:
        deltas = [chunk["choices"][0]["delta"] for chunk in answer.chunks if chunk["choices"]]
    else:
        deltas = [answer.json["choices"][0]["message"]]
    entries = [entry for delta in deltas for entry in delta.get("reasoning_details", ())]
    assert "".join(entry.get("text", "") for entry in entries) == "think0 think1 "
    assert entries[-1]["signature"] == SIGNATURE
    assert "".join(delta.get("reasoning", "") for delta in deltas) == "think0 think1 "
    record = kinds_site.record(answer.call_id)
    assert record["charge_nusd"] == INPUT_NUSD + 5 * OUTPUT_NUSD


@BOTH
def test_text_that_comes_twice_is_counted_once(
    kinds_site: Site, caller: Caller, stream: bool
) -> None:
    script = "script:reasoning=9&tokens=3&reasoning_field=reasoning&usage=none"

    plain, detailed = (
        kinds_site.record(caller.ask(text, stream=stream).call_id)
        for text in (script, f"{script}&details")
    )

    assert plain["charge_basis"] == detailed["charge_basis"] == "estimate"
    assert plain["completion_tokens"] == detailed["completion_tokens"] > 0


@pytest.mark.parametrize("kind", TAKERS)
def test_a_provider_that_takes_them_gets_them_unchanged(caller: Caller, kind: str) -> None:
    answer = caller.with_(model=f"details-{kind}").ask(messages=said(SIGNED, HIDDEN, SUMMARY))

    assert sent(answer) == said(SIGNED, HIDDEN, SUMMARY)
    assert "x-dropped-params" not in answer.headers


@pytest.mark.parametrize("kind", OTHERS)
def test_the_others_do_not_get_them(caller: Caller, kind: str) -> None:
    rest = {"name": "Bot"} if kind != "mistral" else {}  # which has no names

    answer = caller.with_(model=f"details-{kind}").ask(messages=said(SIGNED, **rest))

    assert sent(answer)[1] == {"role": "assistant", "content": "Yes"} | rest
    assert answer.headers["x-dropped-params"] == "reasoning_details"


def test_a_caller_can_insist_on_them(caller: Caller) -> None:
    headers = {"x-require-parameters": "true"}
    mine = caller.with_(model="details-openai")

    refused = mine.ask(messages=said(SIGNED), headers=headers)

    assert (refused.status, refused.error["code"]) == (400, "unsupported_parameter")


@pytest.mark.parametrize(
    ("details", "param"),
    [
        ({}, ""),
        ("Hm.", ""),
        (["Hm."], "[0]"),
        ([{"text": "Hm."}], "[0]"),
        ([{"type": "reasoning.brand_new"}], "[0].type"),
        ([SIGNED, TEXT | {"text": 7}], "[1].text"),
        ([TEXT | {"signature": []}], "[0].signature"),
        ([TEXT | {"index": -1}], "[0].index"),
        ([{"type": "reasoning.encrypted"}], "[0]"),
        ([{"type": "reasoning.summary", "summary": None}], "[0].summary"),
    ],
)
def test_wrong_shapes_are_refused(caller: Caller, details: Any, param: str) -> None:
    message = {"role": "assistant", "content": "Yes", "reasoning_details": details}

    answer = caller.ask(messages=[message, ECHO])

    assert answer.status == 400, answer.body
    assert answer.error["param"].startswith(f"messages[0].reasoning_details{param}")


def test_none_is_as_good_as_absent(caller: Caller) -> None:
    message = {"role": "assistant", "content": "Yes", "reasoning_details": None}

    assert caller.ask(messages=[message, ECHO]).status == 200
