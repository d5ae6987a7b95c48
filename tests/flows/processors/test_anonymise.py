"""The model never reads personal data, and the caller never reads a placeholder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.flows.caller import Caller
from tests.flows.pairs.conversation import PNG
from tests.flows.processors.personal import (
    EMAIL,
    IBAN,
    PHONE,
    VALUES,
    Way,
    read,
    send,
    summary_of,
    tools_of,
)
from tests.flows.site import CREDENTIAL, NUSD_PER_USD, Site, running_site

ANONYMISE: dict[str, Any] = {"processors": ["anonymise"], "language": "en"}
WAYS = [
    Way(form, model, stream)
    for form in ("chat", "messages", "responses")
    for model in ("fake-model", "claude-model")
    for stream in (False, True)
]
EVERY_WAY = pytest.mark.parametrize("way", WAYS, ids=str)
BOTH = pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])


@pytest.fixture(scope="module")
def pii_site(home_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    home = Path(shutil.copytree(home_template, tmp_path_factory.mktemp("pii") / "home"))
    with running_site(home) as site:
        base_url = f"{site.upstream.origin}/anthropic/v1"
        given = {"kind": "anthropic", "base_url": base_url, "credential": CREDENTIAL}
        site.office.do("provider", name="claude", **given)
        native = "claude-haiku-4-5-20251001"
        site.add_model("claude-model", provider="claude", native_model=native)
        yield site


@pytest.fixture
def pii_caller(pii_site: Site) -> Caller:
    caller = pii_site.caller(credit_nusd=10 * NUSD_PER_USD, scopes=["completions", "pii"])
    pii_site.office.do("store_bodies", workspace_id=caller.workspace_id)
    return caller


def received(site: Site, call_id: str) -> str:
    """Return the body of the request as the provider logged it."""
    [entry] = site.tries(call_id)
    assert entry["body"]
    return str(entry["body"])


@EVERY_WAY
def test_a_text_comes_back_with_its_data(pii_site: Site, pii_caller: Caller, way: Way) -> None:
    text = f"Write to {EMAIL} or call {PHONE}; {EMAIL} answers sooner. Pay to {IBAN}"
    prompt = f"script:noted&cut=3&text={text}"

    answer = send(pii_caller, way, prompt, inferada=ANONYMISE)

    assert read(way, answer).text == text
    body = received(pii_site, answer.call_id)
    assert not [value for value in VALUES if value in body]
    assert body.count("<INF_EMAIL_ADDRESS_1>") == 2
    report = summary_of(answer)["processors"]["anonymise"]
    assert report.pop("duration_ms") >= 0
    assert report == {
        "status": "applied",
        "entities": 3,
        "entity_types": ["EMAIL_ADDRESS", "IBAN_CODE", "PHONE_NUMBER"],
        "restored": 4,
        "unrestored": 0,
    }
    stored = pii_site.office.do("body", call_id=pii_site.record(answer.call_id)["id"])
    assert not [value for value in VALUES if value in stored["request"] + stored["response"]]
    assert "<INF_IBAN_CODE_1>" in stored["request"]
    assert "<INF_IBAN_CODE_1>" in stored["response"]


@EVERY_WAY
def test_arguments_of_tools_come_back_with_their_data(
    pii_site: Site, pii_caller: Caller, way: Way
) -> None:
    arguments = json.dumps({"city": f"{EMAIL} / {IBAN}"})
    prompt = f"script:noted&tools=2&args={arguments}"

    answer = send(pii_caller, way, prompt, inferada=ANONYMISE, tools=tools_of(way.form))

    called = [call.arguments for call in read(way, answer).calls]
    assert called == [{"city": f"{EMAIL} / {IBAN}"}] * 2
    assert not [value for value in VALUES if value in received(pii_site, answer.call_id)]
    stored = pii_site.office.do("body", call_id=pii_site.record(answer.call_id)["id"])
    assert EMAIL not in stored["response"]


@BOTH
def test_a_value_has_one_placeholder_over_the_whole_conversation(
    pii_site: Site, pii_caller: Caller, stream: bool
) -> None:
    call = {
        "id": "call_1",
        "type": "function",
        "function": {"name": "mail", "arguments": json.dumps({"to": EMAIL, "n": 1})},
    }
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": f"My name is Marieke Jansen, {EMAIL}."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": json.dumps({"sent": EMAIL})},
        {"role": "user", "content": "script:noted&text=Marieke Jansen has mail"},
    ]

    answer = pii_caller.ask(messages=messages, stream=stream, inferada=ANONYMISE)

    assert answer.text == "Marieke Jansen has mail"
    sent = json.loads(received(pii_site, answer.call_id))["messages"]
    assert sent[0]["content"].startswith("Be brief.\n\nSome data in this conversation")
    assert sent[1]["content"] == "My name is <INF_PERSON_1>, <INF_EMAIL_ADDRESS_1>."
    arguments = sent[2]["tool_calls"][0]["function"]["arguments"]
    assert json.loads(arguments) == {"to": "<INF_EMAIL_ADDRESS_1>", "n": 1}
    assert json.loads(sent[3]["content"]) == {"sent": "<INF_EMAIL_ADDRESS_1>"}
    assert "<INF_PERSON_1> has mail" in sent[4]["content"]


@EVERY_WAY
def test_names_in_arguments_come_back_with_their_data(
    pii_site: Site, pii_caller: Caller, way: Way
) -> None:
    arguments = json.dumps({EMAIL: {IBAN: True}})
    prompt = f"script:noted&tools=1&args={arguments}"

    answer = send(pii_caller, way, prompt, inferada=ANONYMISE, tools=tools_of(way.form))

    [called] = read(way, answer).calls
    assert called.arguments == {EMAIL: {IBAN: True}}
    assert not [value for value in VALUES if value in received(pii_site, answer.call_id)]


@BOTH
def test_names_in_results_and_of_files_are_replaced(
    pii_site: Site, pii_caller: Caller, stream: bool
) -> None:
    function = {"name": "find", "arguments": json.dumps({EMAIL: 1})}
    note = {"filename": f"Mail of {EMAIL}.txt", "file_data": "data:text/plain;base64,aGk="}
    messages = [
        {"role": "user", "content": [{"type": "file", "file": note}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": json.dumps({EMAIL: {IBAN: EMAIL}})},
        {"role": "user", "content": f"script:noted&text=It was {EMAIL}"},
    ]

    answer = pii_caller.ask(messages=messages, stream=stream, inferada=ANONYMISE)

    assert answer.text == f"It was {EMAIL}"
    body = received(pii_site, answer.call_id)
    assert not [value for value in VALUES if value in body]
    sent = json.loads(body)["messages"]
    mail, account = "<INF_EMAIL_ADDRESS_1>", "<INF_IBAN_CODE_1>"
    assert sent[1]["content"][0]["file"]["filename"] == f"Mail of {mail}.txt"
    assert json.loads(sent[2]["tool_calls"][0]["function"]["arguments"]) == {mail: 1}
    assert json.loads(sent[3]["content"]) == {mail: {account: mail}}
    stored = pii_site.office.do("body", call_id=pii_site.record(answer.call_id)["id"])
    assert not [value for value in VALUES if value in stored["request"] + stored["response"]]


@BOTH
def test_a_placeholder_that_the_caller_wrote_stays_as_it_is(
    pii_site: Site, pii_caller: Caller, stream: bool
) -> None:
    own = "<INF_EMAIL_ADDRESS_1>"

    answer = pii_caller.ask(
        f"script:noted&cut=2&text={own} is not {EMAIL}", stream=stream, inferada=ANONYMISE
    )

    assert answer.text == f"{own} is not {EMAIL}"
    assert f"{own} is not <INF_EMAIL_ADDRESS_2>" in received(pii_site, answer.call_id)
    assert summary_of(answer)["processors"]["anonymise"]["unrestored"] == 0


@BOTH
def test_what_a_model_makes_up_is_counted(pii_caller: Caller, stream: bool) -> None:
    prompt = f"script:cut=2&text={EMAIL} %3CINF_PERSON_7%3E"

    answer = pii_caller.ask(prompt, stream=stream, inferada=ANONYMISE)

    assert answer.text == f"{EMAIL} <INF_PERSON_7>"
    assert summary_of(answer)["processors"]["anonymise"]["unrestored"] == 1


def test_a_call_without_personal_data_goes_on_as_it_is(pii_site: Site, pii_caller: Caller) -> None:
    answer = pii_caller.ask("script:noted&text=Fine", inferada=ANONYMISE)

    sent = json.loads(received(pii_site, answer.call_id))
    assert [message["role"] for message in sent["messages"]] == ["user"]
    report = summary_of(answer)["processors"]["anonymise"]
    assert (report["status"], report["entities"], report["entity_types"]) == ("passed", 0, [])


def test_only_the_types_that_were_asked_for_are_taken_out(
    pii_site: Site, pii_caller: Caller
) -> None:
    wanted = ANONYMISE | {"anonymise": {"entities": ["IBAN_CODE"], "score_threshold": 0.5}}

    answer = pii_caller.ask(f"script:noted&text={EMAIL} and {IBAN}", inferada=wanted)

    assert answer.text == f"{EMAIL} and {IBAN}"
    assert f"{EMAIL} and <INF_IBAN_CODE_1>" in received(pii_site, answer.call_id)


def test_an_answer_in_json_stays_json(pii_caller: Caller) -> None:
    said = json.dumps({"to": EMAIL})
    answer = pii_caller.ask(
        f"script:cut=4&text={said}",
        response_format={"type": "json_object"},
        inferada=ANONYMISE,
        stream=True,
    )

    assert answer.status == 200
    assert json.loads(answer.text)


@pytest.mark.parametrize(
    ("inferada", "status", "code", "param"),
    [
        ({"processors": ["anonymise"]}, 422, "language_required", "inferada.language"),
        (
            {"processors": ["anonymise"], "language": "ja"},
            422,
            "language_not_supported",
            "inferada.language",
        ),
        (
            ANONYMISE | {"anonymise": {"entities": ["PERSON", "SHOE_SIZE"]}},
            400,
            "invalid_request",
            "inferada.anonymise.entities[1]",
        ),
        (
            ANONYMISE | {"anonymise": {"service_id": "mine"}},
            400,
            "invalid_request",
            "inferada.anonymise.service_id",
        ),
    ],
)
def test_what_cannot_be_done_is_refused(
    pii_site: Site,
    pii_caller: Caller,
    inferada: dict[str, Any],
    status: int,
    code: str,
    param: str,
) -> None:
    answer = pii_caller.ask(f"My mail: {EMAIL}", inferada=inferada)

    assert (answer.status, answer.error["code"], answer.error["param"]) == (status, code, param)
    assert EMAIL not in answer.body.decode()
    assert pii_site.tries(answer.call_id) == []


def test_a_key_needs_the_scope(pii_site: Site) -> None:
    caller = pii_site.caller(scopes=["completions"])

    answer = caller.ask(f"My mail: {EMAIL}", inferada=ANONYMISE)

    assert (answer.status, answer.error["code"]) == (403, "insufficient_scope")
    assert answer.error["details"] == {"required_scope": "pii"}


@pytest.mark.parametrize("allowed", [False, True])
def test_a_picture_is_refused_unless_it_is_allowed(
    pii_site: Site, pii_caller: Caller, allowed: bool
) -> None:
    pii_site.office.do("describe_model", name="fake-model", supports_vision=True)
    url = f"data:image/png;base64,{PNG}"
    picture = {"type": "image_url", "image_url": {"url": url}}
    text = {"type": "text", "text": f"Hello {EMAIL}"}

    answer = pii_caller.ask(
        messages=[{"role": "user", "content": [text, picture]}],
        inferada=ANONYMISE | {"anonymise": {"allow_unscannable": allowed}},
    )

    if allowed:
        assert answer.status == 200, answer.body
        assert summary_of(answer)["processors"]["anonymise"]["unscannable"] == 1
    else:
        assert (answer.status, answer.error["code"]) == (422, "unscannable_content")
        assert answer.error["param"] == "messages[0].content[1]"


def test_a_prediction_is_refused(pii_caller: Caller) -> None:
    answer = pii_caller.ask(
        "hello", prediction={"type": "content", "content": EMAIL}, inferada=ANONYMISE
    )

    assert (answer.status, answer.error["param"]) == (400, "prediction")
