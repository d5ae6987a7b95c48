"""Every kind of answer can be sent back, in the format it came in, to a model of any dialect."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import chain
from typing import Any

import pytest

from tests.flows.caller import Answer, Caller
from tests.flows.messages.asking import message_of
from tests.flows.pairs.conversation import PNG, TOOL, TOOL_SCHEMA, Body
from tests.flows.pairs.dialects import DIALECTS
from tests.flows.pairs.test_options import ASKED
from tests.flows.responses.asking import events_of
from tests.flows.site import NUSD_PER_USD, Site

MODELS = {dialect.name: dialect.model for dialect in DIALECTS}
TOOLS: dict[str, list[Body]] = {
    "chat": [{"type": "function", "function": {"name": TOOL, "parameters": TOOL_SCHEMA}}],
    "messages": [{"name": TOOL, "input_schema": TOOL_SCHEMA}],
    "responses": [{"type": "function", "name": TOOL, "parameters": TOOL_SCHEMA, "strict": True}],
}
THINKING: dict[str, Body] = {
    "chat": {"reasoning_effort": "low"},
    "messages": {"thinking": {"type": "enabled", "budget_tokens": 1024}},
    "responses": {"reasoning": {"effort": "low"}},
}
LIMITS = {"chat": "max_tokens", "messages": "max_tokens", "responses": "max_output_tokens"}


@dataclass(frozen=True)
class Kind:
    """How an answer is made that has something of its own."""

    script: str
    sources: tuple[str, ...] = ("openai", "anthropic")
    has_tools: bool = False
    thinks: bool = False
    max_tokens: int = 4000


KINDS = {
    "text": Kind("tokens=3"),
    "nothing": Kind("tokens=0"),
    "white space": Kind("text=+%0A"),
    "refused": Kind("tokens=0&finish=content_filter"),
    "thoughts": Kind("reasoning=2&tokens=2", thinks=True),
    "thoughts alone": Kind("reasoning=9&tokens=2", thinks=True, max_tokens=1100),
    "thoughts cut off": Kind("reasoning=9&tokens=2", ("openai",), max_tokens=3),
    "encrypted thoughts": Kind("redacted&reasoning=1&tokens=2", ("anthropic",), thinks=True),
    "tools": Kind("tools=2", ("openai", "anthropic", "google_ai_studio_gemini"), has_tools=True),
    "thoughts and tools": Kind("reasoning=1&tools=1", ("anthropic",), has_tools=True, thinks=True),
    "no arguments": Kind("tools=1&args=", has_tools=True),
    "arguments cut off": Kind("tools=1&args=%7B%22ci", ("openai",), has_tools=True),
    "arguments that are a list": Kind("tools=1&args=%5B7%5D", ("openai",), has_tools=True),
    "cited pages": Kind("tokens=2&cites=web", ("anthropic",)),
    "cited documents": Kind("tokens=2&cites=page", ("anthropic",)),
}
ECHO: Body = {"role": "user", "content": "script:echo"}
IMAGE = f"data:image/png;base64,{PNG}"
MADE_BY_TOOLS: dict[str, list[Body]] = {
    "chat": [
        {
            "role": "assistant",
            "content": "Here.",
            "images": [{"type": "image_url", "image_url": {"url": IMAGE}}],
            "annotations": [],
        }
    ],
    "responses": [
        {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": PNG}
    ],
}


@pytest.fixture(scope="module")
def asker(pairs_site: Site) -> Caller:
    return pairs_site.caller(credit_nusd=100 * NUSD_PER_USD)


def ask(asker: Caller, form: str, model: str, turns: list[Body], **members: Any) -> Answer:
    path, least, _ = ASKED[form]
    name = "input" if "input" in least else "messages"
    body = least | {name: turns, "model": MODELS[model]} | members
    return asker.begin(raw=json.dumps(body).encode(), path=path).answer()


def said_in(form: str, answer: Answer) -> tuple[list[Body], list[Body]]:
    """Return an answer as it is sent back, and results of the tools that it calls."""
    is_stream = answer.headers["content-type"].startswith("text/event-stream")
    match form:
        case "chat":
            message = answer.json["choices"][0]["message"]
            ids = [call["id"] for call in message.get("tool_calls") or ()]
            return [message], [
                {"role": "tool", "tool_call_id": one, "content": "Rain."} for one in ids
            ]
        case "messages":
            content = message_of(answer)["content"]
            ids = [block["id"] for block in content if block["type"] == "tool_use"]
            results = [
                {"type": "tool_result", "tool_use_id": one, "content": "Rain."} for one in ids
            ]
            turn = {"role": "assistant", "content": content}
            return [turn], [{"role": "user", "content": results}] if results else []
        case _:
            whole = events_of(answer)[-1]["response"] if is_stream else answer.json
            output = whole["output"]
            ids = [item["call_id"] for item in output if item["type"] == "function_call"]
            return output, [
                {"type": "function_call_output", "call_id": one, "output": "Rain."} for one in ids
            ]


@pytest.mark.parametrize("kind", KINDS.values(), ids=[*KINDS])
@pytest.mark.parametrize("form", [*ASKED])
def test_an_answer_can_be_sent_back_to_any_model(asker: Caller, form: str, kind: Kind) -> None:
    question = {"role": "user", "content": f"script:{kind.script}"}
    next_question = {"role": "user", "content": "script:tokens=1"}
    tools = {"tools": TOOLS[form]} if kind.has_tools else {}
    thinking = THINKING[form] if kind.thinks else {}
    limit = {LIMITS[form]: kind.max_tokens}
    refused = []
    for source in kind.sources:
        first = ask(asker, form, source, [question], **tools, **thinking, **limit)
        assert first.status == 200, first.body
        answer, results = said_in(form, first)
        turns = [question, *answer, *results, next_question]
        for model in MODELS:
            second = ask(asker, form, model, turns, **tools, **thinking)
            if second.status != 200:
                refused.append((source, model, second.body))
    assert refused == []


@pytest.mark.parametrize("form", [*ASKED])
def test_a_tool_loop_goes_on_with_a_model_that_thinks(asker: Caller, form: str) -> None:
    question = {"role": "user", "content": "script:tools=1&tokens=1"}
    answer, results = said_in(form, ask(asker, form, "openai", [question], tools=TOOLS[form]))
    turns = [question, *answer, *results]

    for model in MODELS:
        after = ask(asker, form, model, turns, tools=TOOLS[form], **THINKING[form])
        assert after.status == 200, (model, after.body)


@pytest.mark.parametrize("form", ["chat", "responses"])
def test_what_a_tool_of_the_gateway_made_can_be_sent_back(asker: Caller, form: str) -> None:
    question = {"role": "user", "content": "Draw."}
    next_question = {"role": "user", "content": "script:tokens=1"}

    for model in MODELS:
        after = ask(asker, form, model, [question, *MADE_BY_TOOLS[form], next_question])
        assert after.status == 200, (model, after.body)


OF_OPENAI: dict[str, list[Body]] = {
    "a function as it was before tools": [
        {
            "role": "assistant",
            "content": None,
            "refusal": None,
            "function_call": {"name": TOOL, "arguments": "{}"},
        },
        {"role": "function", "name": TOOL, "content": "Rain."},
    ],
    "a custom tool": [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "call_1", "type": "custom", "custom": {"name": TOOL, "input": "Rain?"}}
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "Rain."},
    ],
    "a refusal": [{"role": "assistant", "content": None, "refusal": "Rain."}],
    "a part that is a refusal": [
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "Rain."}]}
    ],
}


@pytest.mark.parametrize("turns", OF_OPENAI.values(), ids=[*OF_OPENAI])
def test_what_openai_alone_has_in_histories_reaches_any_model(
    asker: Caller, turns: list[Body]
) -> None:
    question = {"role": "user", "content": "Rain?"}
    said = {"role": "assistant", "content": "Yes.", "refusal": None, "audio": None}

    for model in MODELS:
        after = ask(asker, "chat", model, [question, *turns, said, ECHO])

        assert after.status == 200, (model, after.body)
        assert "Rain." in after.echo["body_text"], model
        assert "x-dropped-params" not in after.headers or model == "mistral"


def test_what_openai_alone_has_goes_to_openai_as_it_is(asker: Caller) -> None:
    turns = [{"role": "user", "content": "Rain?"}, *chain(*OF_OPENAI.values()), ECHO]

    answer = ask(asker, "chat", "openai", turns)

    assert json.loads(answer.echo["body_text"])["messages"] == turns


def test_what_openai_alone_has_becomes_calls_of_tools_and_text(asker: Caller) -> None:
    turns = [{"role": "user", "content": "Rain?"}, *chain(*OF_OPENAI.values()), ECHO]

    answer = ask(asker, "chat", "anthropic", turns)

    blocks = [
        block
        for message in json.loads(answer.echo["body_text"])["messages"]
        for block in message["content"]
    ]
    used = [block for block in blocks if block["type"] == "tool_use"]
    results = [block for block in blocks if block["type"] == "tool_result"]
    assert [block["input"] for block in used] == [{}, {"input": "Rain?"}]
    assert [block["tool_use_id"] for block in results] == [block["id"] for block in used]
    assert [block["text"] for block in blocks if block["type"] == "text"] == [
        "Rain?",
        "Rain.",
        "Rain.",
        "script:echo",
    ]


MARK = {"cache_control": {"type": "ephemeral"}}
MARKED: dict[str, tuple[str, Body]] = {
    "a tool": (
        "chat",
        {"messages": [ECHO], "tools": [TOOLS["chat"][0] | MARK]},
    ),
    "a function": (
        "chat",
        {
            "messages": [ECHO],
            "tools": [{"type": "function", "function": TOOLS["chat"][0]["function"] | MARK}],
        },
    ),
    "a part": (
        "chat",
        {
            "messages": [
                {"role": "system", "content": [{"type": "text", "text": "Hi"} | MARK]},
                ECHO,
            ]
        },
    ),
    "a message": ("chat", {"messages": [{"role": "system", "content": "Hi"} | MARK, ECHO]}),
    "a tool of Anthropic's format": (
        "messages",
        {"messages": [ECHO], "tools": [TOOLS["messages"][0] | MARK]},
    ),
}


@pytest.mark.parametrize("marked", MARKED.values(), ids=[*MARKED])
@pytest.mark.parametrize("model", ["openai", "mistral", "azure_openai", "tgi"])
def test_marks_for_the_cache_are_dropped_and_named(
    asker: Caller, marked: tuple[str, Body], model: str
) -> None:
    form, members = marked
    turns = members["messages"]
    tools = {"tools": members["tools"]} if "tools" in members else {}

    answer = ask(asker, form, model, turns, **tools)

    assert answer.status == 200, answer.body
    assert "cache_control" in answer.headers["x-dropped-params"].split(",")
    said = answer.text if form == "chat" else message_of(answer)["content"][0]["text"]
    assert "cache_control" not in json.loads(said)["body_text"]


def test_a_tool_may_have_a_parameter_of_the_same_name(asker: Caller) -> None:
    schema = {"type": "object", "properties": {"cache_control": {"type": "string"}}}
    tools = [{"type": "function", "function": {"name": TOOL, "parameters": schema}}]

    answer = ask(asker, "chat", "openai", [ECHO], tools=tools)

    assert "x-dropped-params" not in answer.headers
    assert json.loads(answer.echo["body_text"])["tools"] == tools


@pytest.mark.parametrize("form", ["chat", "responses"])
def test_a_system_message_alone_is_answered(asker: Caller, form: str) -> None:
    for model in MODELS:
        answer = ask(asker, form, model, [{"role": "system", "content": "Tell a joke."}])
        assert answer.status == 200, (model, answer.body)
