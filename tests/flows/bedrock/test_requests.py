"""Calls in OpenAI's format as Converse gets them."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.flows.anthropic.test_messages import PDF, PICTURES, data_url
from tests.flows.asking import CALL, ECHO, LOOK_UP, body_of, dropped, sent
from tests.flows.bedrock.asking import user
from tests.flows.bedrock.conftest import CLAUDE, GPT_OSS, NATIVE, NOVA, OLD_CLAUDE, PROFILE
from tests.flows.caller import Caller
from tests.flows.site import CREDENTIAL, Site
from tests.flows.transports import both_transports, named

MARK = {"cache_control": {"type": "ephemeral"}}
POINT = {"cachePoint": {"type": "default"}}
SCRIPT = {"text": "script:echo"}
CSV = data_url("text/csv", b"a,b\n1,2\n")
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}
LOW = {"type": "enabled", "maxReasoningEffort": "low"}
FORMAT = {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA}}


def file_part(url: str, name: str = "") -> dict[str, Any]:
    named_as = {"filename": name} if name else {}
    return {"type": "file", "file": {"file_data": url, **named_as}}


def assistant(*ids: str, **more: Any) -> dict[str, Any]:
    calls = [CALL | {"id": call_id} for call_id in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls} | more


def result(call_id: str, said: str = "sun") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": said}


@both_transports
@pytest.mark.parametrize("model", [CLAUDE, PROFILE])
def test_the_address_has_the_models_name_encoded(
    bedrock: Caller, transport: str, model: str
) -> None:
    answer = bedrock.with_(model=named(model, transport)).ask("script:echo")

    encoded = NATIVE[model].replace(":", "%3A").replace("/", "%2F")
    assert answer.echo["path"] == f"/bedrock/model/{encoded}/converse"
    assert dict(answer.echo["headers"])["authorization"] == f"Bearer {CREDENTIAL}"
    assert body_of(answer) == {
        "messages": [user(SCRIPT)],
        "inferenceConfig": {"maxTokens": 16_384},
    }


def test_instructions_are_lifted_out(bedrock: Caller) -> None:
    body = sent(
        bedrock,
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello"},
        {"role": "developer", "content": [{"type": "text", "text": "Be kind."}]},
    )

    assert body["system"] == [{"text": "Be brief."}, {"text": "Be kind."}]
    assert body["messages"] == [user({"text": "Hello"}, SCRIPT)]


def test_tools_go_round(bedrock: Caller) -> None:
    said = {"content": "One moment."}
    body = sent(
        bedrock,
        {"role": "user", "content": "Paris?"},
        assistant("call_1", "call_2", **said),
        result("call_2", "rain"),
        result("call_1"),
        tools=[LOOK_UP],
    )

    call = {"name": "look_up", "input": {}}
    assert body["messages"][1] == {
        "role": "assistant",
        "content": [
            {"text": "One moment."},
            {"toolUse": {"toolUseId": "call_1"} | call},
            {"toolUse": {"toolUseId": "call_2"} | call},
        ],
    }
    results = [("call_2", "rain"), ("call_1", "sun")]
    assert body["messages"][2] == user(
        *({"toolResult": {"toolUseId": i, "content": [{"text": t}]}} for i, t in results), SCRIPT
    )
    function = LOOK_UP["function"]
    spec = {"name": "look_up", "description": function["description"]}
    spec |= {"inputSchema": {"json": function["parameters"]}}
    assert body["toolConfig"] == {"tools": [{"toolSpec": spec}]}


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        ("auto", None),
        ("required", {"any": {}}),
        ({"type": "function", "function": {"name": "look_up"}}, {"tool": {"name": "look_up"}}),
    ],
)
def test_a_choice_of_tools(bedrock: Caller, choice: Any, said: Any) -> None:
    body = sent(bedrock, tools=[LOOK_UP], tool_choice=choice)

    assert body["toolConfig"].get("toolChoice") == said


def test_no_tools_means_none_are_sent(bedrock: Caller) -> None:
    assert "toolConfig" not in sent(bedrock, tools=[LOOK_UP], tool_choice="none")


def test_no_tools_after_calls_is_refused(bedrock: Caller) -> None:
    said = [{"role": "user", "content": "Paris?"}, assistant("a"), result("a"), ECHO]

    answer = bedrock.ask(messages=said, tools=[LOOK_UP], tool_choice="none")

    assert (answer.status, answer.error["code"]) == (400, "unsupported_parameter")
    assert answer.error["param"] == "tool_choice"


def test_calls_without_tools_name_those_that_were_called(bedrock: Caller) -> None:
    body = sent(bedrock, {"role": "user", "content": "Paris?"}, assistant("a"), result("a"))

    [tool] = body["toolConfig"]["tools"]
    assert tool["toolSpec"]["name"] == "look_up"


def test_odd_ids_of_calls_become_ids_that_are_taken(bedrock: Caller) -> None:
    long = "call/" + "x" * 80
    body = sent(
        bedrock,
        {"role": "user", "content": "Paris?"},
        assistant(long),
        result(long),
        assistant(long),
        result(long),
        tools=[LOOK_UP],
    )

    ids = [
        block["toolUse"]["toolUseId"]
        for message in body["messages"]
        for block in message["content"]
        if "toolUse" in block
    ]
    assert len(set(ids)) == 2
    assert all(len(call_id) <= 64 for call_id in ids)


@pytest.mark.parametrize("kind", PICTURES)
def test_a_picture_is_sent_as_bytes(bedrock: Caller, kind: str) -> None:
    picture = {"type": "image_url", "image_url": {"url": data_url(kind, PICTURES[kind])}}
    body = sent(bedrock, {"role": "user", "content": [picture]})

    data = base64.b64encode(PICTURES[kind]).decode()
    image = {"format": kind.partition("/")[2], "source": {"bytes": data}}
    assert body["messages"] == [user({"image": image}, SCRIPT)]


def test_an_address_of_a_picture_is_refused(bedrock: Caller) -> None:
    picture = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}

    answer = bedrock.ask(messages=[{"role": "user", "content": [picture]}])

    assert answer.status == 400, answer.body
    assert "image" in answer.error["message"].lower()


def test_documents_have_names_that_are_taken_and_differ(bedrock_site: Site) -> None:
    model = bedrock_site.add_model(
        "bedrock-pdf", provider="bedrock", native_model=NATIVE[NOVA], supports_pdf=True
    )
    caller = bedrock_site.caller().with_(model=model)
    pdf, parts = data_url("application/pdf", PDF), []
    parts += [file_part(pdf, "Plan  B: 10%.pdf"), file_part(pdf, "Plan B 10 .pdf")]
    parts += [file_part(CSV), file_part(CSV)]

    [message] = sent(caller, {"role": "user", "content": parts})["messages"]

    documents = [block["document"] for block in message["content"] if "document" in block]
    assert [d["name"] for d in documents] == [
        *("Plan B 10 pdf", "Plan B 10 pdf 2", "file", "file 2"),
    ]
    assert [d["format"] for d in documents] == ["pdf", "pdf", "csv", "csv"]


def test_a_document_never_comes_without_a_text(bedrock: Caller) -> None:
    answer = bedrock.ask(
        messages=[
            {"role": "user", "content": [file_part(CSV)]},
            {"role": "assistant", "content": "Seen."},
            {"role": "user", "content": "script:echo"},
        ]
    )

    first = body_of(answer)["messages"][0]["content"]
    assert [list(block) for block in first] == [["document"], ["text"]]


def test_marks_for_the_cache_become_blocks(bedrock: Caller) -> None:
    long = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
    body = sent(
        bedrock,
        {"role": "system", "content": [{"type": "text", "text": "Long."} | long]},
        {"role": "user", "content": [{"type": "text", "text": "A book."} | MARK]},
        {"role": "assistant", "content": "Read."} | MARK,
        tools=[LOOK_UP | MARK],
    )

    assert body["system"] == [{"text": "Long."}, {"cachePoint": {"type": "default", "ttl": "1h"}}]
    assert body["messages"][0]["content"] == [{"text": "A book."}, POINT]
    assert body["messages"][1]["content"] == [{"text": "Read."}, POINT]
    assert body["toolConfig"]["tools"][1] == POINT


@pytest.mark.parametrize(("marks", "points"), [({}, []), (MARK, [POINT])])
def test_an_answer_that_is_begun_ends_without_white_space(
    bedrock: Caller, marks: dict[str, Any], points: list[dict[str, Any]]
) -> None:
    answer = bedrock.ask(messages=[ECHO, {"role": "assistant", "content": "So: \n"} | marks])

    last = body_of(answer)["messages"][-1]
    assert last == {"role": "assistant", "content": [{"text": "So:"}, *points]}


def test_sampling_has_converses_names(bedrock: Caller) -> None:
    answer = bedrock.ask("script:echo", temperature=0.5, stop=["END"], top_k=7, max_tokens=99)

    body = body_of(answer)
    assert body["inferenceConfig"] == {
        "temperature": 0.5,
        "stopSequences": ["END"],
        "maxTokens": 99,
    }
    assert body["additionalModelRequestFields"] == {"top_k": 7}
    assert dropped(answer) == set()


@pytest.mark.parametrize(
    ("model", "asked", "additional", "lost"),
    [
        (NOVA, {"top_k": 7}, {"inferenceConfig": {"topK": 7}}, set()),
        (NOVA, {"reasoning_effort": "low"}, {"reasoningConfig": LOW}, set()),
        (NOVA, {"reasoning_effort": "high"}, None, {"reasoning_effort"}),
        (GPT_OSS, {"reasoning_effort": "high"}, {"reasoning_effort": "high"}, set()),
        (GPT_OSS, {"top_k": 7, "temperature": 1.5}, None, {"top_k", "temperature"}),
        (GPT_OSS, {"seed": 1, "logit_bias": {"1": 1}}, None, {"seed", "logit_bias"}),
        (OLD_CLAUDE, {"reasoning_effort": "low"}, None, {"reasoning_effort"}),
    ],
)
def test_what_only_some_models_take(
    bedrock_site: Site, model: str, asked: dict[str, Any], additional: Any, lost: set[str]
) -> None:
    answer = bedrock_site.caller().with_(model=model).ask("script:echo", **asked)

    assert body_of(answer).get("additionalModelRequestFields") == additional
    assert dropped(answer) == lost


def test_a_claude_thinks_within_a_budget(bedrock: Caller) -> None:
    body = sent(bedrock, reasoning_effort="low", max_tokens=10_000)

    thinking = {"type": "enabled", "budget_tokens": 2_000}
    assert body["additionalModelRequestFields"] == {"thinking": thinking}


@pytest.mark.parametrize("model", [CLAUDE, NOVA, GPT_OSS])
def test_a_schema_goes_as_the_form_of_the_text(bedrock_site: Site, model: str) -> None:
    answer = bedrock_site.caller().with_(model=model).ask("Answer.", response_format=FORMAT)

    assert answer.status == 200, answer.body
    assert set(json.loads(answer.text)) == {"a"}


def test_a_schema_is_refused_where_the_model_has_no_form(bedrock_site: Site) -> None:
    answer = bedrock_site.caller().with_(model=OLD_CLAUDE).ask("Answer.", response_format=FORMAT)

    assert (answer.status, answer.error["code"]) == (400, "unsupported_parameter")


@pytest.mark.parametrize(
    ("asked", "said", "lost"),
    [("flex", {"type": "flex"}, set()), ("auto", None, set()), ("scale", None, {"service_tier"})],
)
def test_service_tiers(bedrock: Caller, asked: str, said: Any, lost: set[str]) -> None:
    answer = bedrock.ask("script:echo", service_tier=asked)

    assert body_of(answer).get("serviceTier") == said
    assert dropped(answer) == lost


def test_parallel_calls_cannot_be_forbidden(bedrock: Caller) -> None:
    answer = bedrock.ask("script:echo", tools=[LOOK_UP], parallel_tool_calls=False)

    assert dropped(answer) == {"parallel_tool_calls"}


def test_only_operators_choose_guardrails(bedrock_site: Site) -> None:
    config = {"guardrailIdentifier": "abc", "guardrailVersion": "1"}
    model = bedrock_site.add_model(
        "bedrock-guarded",
        provider="bedrock",
        native_model=NATIVE[NOVA],
        default_params={"guardrailConfig": config},
        unknown_fields="forward",
    )
    answer = (
        bedrock_site.caller()
        .with_(model=model)
        .ask("script:echo", guardrailConfig=config | {"guardrailVersion": "2"})
    )

    assert body_of(answer)["guardrailConfig"] == config
    assert dropped(answer) == {"guardrailConfig"}


@pytest.mark.parametrize("asked", [{"n": 2}, {"guided_regex": "a+"}, {"chat_template": "x"}])
def test_what_would_change_the_answer_is_refused(bedrock: Caller, asked: dict[str, Any]) -> None:
    answer = bedrock.ask(**asked)

    assert answer.status in (400, 403), answer.body
