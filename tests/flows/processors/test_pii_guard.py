"""A call with personal data in it is refused, and the refusal does not repeat the data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.flows.caller import Caller
from tests.flows.pairs.conversation import PNG
from tests.flows.processors.personal import EMAIL, IBAN, Way, send, summary_of
from tests.flows.site import NUSD_PER_USD, Site

GUARD: dict[str, Any] = {"processors": ["pii_guard"]}
NOTE = {
    "type": "file",
    "file": {"filename": f"{EMAIL}.txt", "file_data": "data:text/plain;base64,aGk="},
}
CALLED = [
    {"role": "user", "content": "hello"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "find", "arguments": "{}"}}
        ],
    },
]
RESULT = json.dumps({"found": [{EMAIL: 1}]})
BOTH = pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])


@pytest.fixture
def caller(site: Site) -> Caller:
    return site.caller(credit_nusd=NUSD_PER_USD, scopes=["completions", "pii"])


@BOTH
@pytest.mark.parametrize("form", ["chat", "messages", "responses"])
def test_a_prompt_with_personal_data_is_refused(
    site: Site, caller: Caller, form: str, stream: bool
) -> None:
    way = Way(form, "fake-model", stream)

    answer = send(caller, way, f"Mail {EMAIL}, pay {IBAN}", inferada=GUARD)

    assert answer.status == 422
    error = answer.error
    assert error["code"] == "processor_policy_rejection"
    details = error["details"]
    assert details["processor"] == "pii_guard"
    assert details["reason"] == "personal_data"
    assert details["entity_types"] == ["EMAIL_ADDRESS", "IBAN_CODE"]
    assert EMAIL not in answer.body.decode()
    assert site.tries(answer.call_id) == []
    assert site.balance_nusd(caller) == NUSD_PER_USD
    [record] = site.records(caller)
    assert EMAIL not in str(record)


@BOTH
def test_a_prompt_without_goes_on(site: Site, caller: Caller, stream: bool) -> None:
    answer = caller.ask("script:tokens=1", stream=stream, inferada=GUARD | {"language": "ja"})

    assert answer.text.strip() == "tok0"
    report = summary_of(answer)["processors"]["pii_guard"]
    assert report.pop("duration_ms") >= 0
    assert report == {"status": "passed"}


@pytest.mark.parametrize(
    ("members", "param"),
    [
        ({"prediction": {"type": "content", "content": f"Dear {EMAIL}"}}, "prediction"),
        (
            {"messages": [{"role": "user", "content": f"Mail {EMAIL}"}]},
            "messages[0].content",
        ),
        (
            {"messages": [{"role": "system", "content": EMAIL}, {"role": "user", "content": "x"}]},
            "messages[0].content",
        ),
        (
            {"messages": [{"role": "user", "content": [NOTE]}]},
            "messages[0].content[0].file.filename",
        ),
        (
            {"messages": [*CALLED, {"role": "tool", "tool_call_id": "c", "content": RESULT}]},
            "messages[2].content",
        ),
    ],
)
def test_the_place_is_named(caller: Caller, members: Mapping[str, Any], param: str) -> None:
    answer = caller.ask("hello", inferada=GUARD, **members)

    assert (answer.status, answer.error["param"]) == (422, param)


@pytest.fixture(scope="module")
def seeing(site: Site) -> str:
    return site.add_model("seeing-guarded", supports_vision=True)


@pytest.mark.parametrize("allowed", [False, True])
def test_a_picture_is_refused_unless_it_is_allowed(
    caller: Caller, seeing: str, allowed: bool
) -> None:
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
    text = {"type": "text", "text": "Hello"}

    answer = caller.ask(
        model=seeing,
        messages=[{"role": "user", "content": [text, picture]}],
        inferada=GUARD | {"pii_guard": {"allow_unscannable": allowed}},
    )

    if allowed:
        assert summary_of(answer)["processors"]["pii_guard"]["unscannable"] == 1
    else:
        assert (answer.status, answer.error["code"]) == (422, "unscannable_content")
        assert answer.error["details"]["params"] == ["messages[0].content[1]"]


def test_it_reads_what_anonymise_has_left(site: Site, caller: Caller) -> None:
    both = {"processors": ["pii_guard", "anonymise"], "language": "en"}

    passed = caller.ask(f"script:text={EMAIL}", inferada=both)
    left = caller.ask(
        f"script:text={EMAIL} {IBAN}", inferada=both | {"anonymise": {"entities": ["IBAN_CODE"]}}
    )

    assert passed.text == EMAIL
    assert list(summary_of(passed)["processors"]) == ["anonymise", "pii_guard"]
    assert left.error["details"]["entity_types"] == ["EMAIL_ADDRESS"]


def test_only_the_types_that_were_asked_for_count(caller: Caller) -> None:
    wanted = GUARD | {"pii_guard": {"entities": ["IBAN_CODE"]}}

    assert caller.ask(f"script:text={EMAIL}", inferada=wanted).text == EMAIL


def test_a_key_needs_the_scope(site: Site) -> None:
    answer = site.caller(scopes=["completions"]).ask("Hi", inferada=GUARD)

    assert (answer.status, answer.error["details"]) == (403, {"required_scope": "pii"})
