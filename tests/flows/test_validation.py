"""Bodies that do not fit the schema: each refused with the place that is at fault as `param`."""

from __future__ import annotations

from typing import Any

import pytest

from tests.flows.caller import Caller
from tests.flows.site import Site

HELLO = {"role": "user", "content": "hello"}
LONG = "x" * 257


def tool(name: Any = "look", **function: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name} | function}


def call(**fields: Any) -> dict[str, Any]:
    return {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}} | fields


# What is sent beside, or instead of, a good model and good messages, and the place at fault.
TOP_LEVEL: list[tuple[dict[str, Any], str]] = [
    ({"model": None}, "model"),
    ({"model": ""}, "model"),
    ({"model": LONG}, "model"),
    ({"model": 7}, "model"),
    ({"messages": None}, "messages"),
    ({"messages": []}, "messages"),
    ({"messages": {"role": "user"}}, "messages"),
    ({"messages": "hello"}, "messages"),
    ({"stream": "true"}, "stream"),
    ({"stream": 1}, "stream"),
    ({"stream_options": []}, "stream_options"),
    ({"stream_options": {"include_usage": "yes"}}, "stream_options.include_usage"),
    ({"temperature": -0.1}, "temperature"),
    ({"temperature": 2.1}, "temperature"),
    ({"temperature": "1"}, "temperature"),
    ({"temperature": True}, "temperature"),
    ({"top_p": -0.01}, "top_p"),
    ({"top_p": 1.01}, "top_p"),
    ({"top_k": -1}, "top_k"),
    ({"top_k": 1.5}, "top_k"),
    ({"max_tokens": 0}, "max_tokens"),
    ({"max_tokens": -1}, "max_tokens"),
    ({"max_tokens": 1.5}, "max_tokens"),
    ({"max_tokens": "10"}, "max_tokens"),
    ({"max_tokens": True}, "max_tokens"),
    ({"max_tokens": 2**63}, "max_tokens"),
    ({"max_completion_tokens": 0}, "max_completion_tokens"),
    ({"max_tokens": 5, "max_completion_tokens": 0}, "max_completion_tokens"),
    ({"stop": ["a", "b", "c", "d", "e"]}, "stop"),
    ({"stop": [1]}, "stop[0]"),
    ({"stop": 1}, "stop"),
    ({"stop": ["a", ""]}, "stop[1]"),
    ({"frequency_penalty": 2.1}, "frequency_penalty"),
    ({"frequency_penalty": -2.1}, "frequency_penalty"),
    ({"presence_penalty": 3}, "presence_penalty"),
    ({"presence_penalty": "0"}, "presence_penalty"),
    ({"seed": 1.5}, "seed"),
    ({"seed": 2**70}, "seed"),
    ({"seed": "7"}, "seed"),
    ({"n": 0}, "n"),
    ({"n": -1}, "n"),
    ({"n": 1.5}, "n"),
    ({"n": 129}, "n"),
    ({"logprobs": 1}, "logprobs"),
    ({"logprobs": True, "top_logprobs": 21}, "top_logprobs"),
    ({"logprobs": True, "top_logprobs": -1}, "top_logprobs"),
    ({"top_logprobs": 5}, "top_logprobs"),
    ({"logprobs": False, "top_logprobs": 5}, "top_logprobs"),
    ({"logit_bias": []}, "logit_bias"),
    ({"logit_bias": {"7": 101}}, "logit_bias"),
    ({"logit_bias": {"7": "high"}}, "logit_bias"),
    ({"response_format": "json"}, "response_format"),
    ({"response_format": {"type": "yaml"}}, "response_format.type"),
    ({"response_format": {}}, "response_format.type"),
    ({"response_format": {"type": "json_schema"}}, "response_format.json_schema"),
    ({"response_format": {"type": "json_schema", "json_schema": {"name": "a b"}}}, "…name"),
    ({"response_format": {"type": "json_schema", "json_schema": {"name": "a"}}}, "…schema"),
    ({"response_format": {"type": "json_schema", "json_schema": {"schema": {}}}}, "…name"),
    ({"response_format": {"type": "json_schema", "json_schema": {}}}, "…name"),
    ({"response_format": {"type": "json_schema", "json_schema": {"strict": True}}}, "…name"),
    (
        {"response_format": {"type": "json_schema", "json_schema": {"$ref": "http://x/"}}},
        "response_format.json_schema",
    ),
    ({"repetition_penalty": "1"}, "repetition_penalty"),
    ({"min_p": True}, "min_p"),
    ({"ignore_eos": 1}, "ignore_eos"),
    ({"hi_tool_events": "yes"}, "hi_tool_events"),
    ({"tools": tool()}, "tools"),
    ({"tools": [{}]}, "tools[0].type"),
    ({"tools": [{"type": "function"}]}, "tools[0].function"),
    ({"tools": [{"type": "search", "function": {"name": "f"}}]}, "tools[0].type"),
    ({"tools": [tool(name="two words")]}, "tools[0].function.name"),
    ({"tools": [tool(name="")]}, "tools[0].function.name"),
    ({"tools": [tool(name="n" * 65)]}, "tools[0].function.name"),
    ({"tools": [tool(), tool(parameters=[])]}, "tools[1].function.parameters"),
    ({"tools": [tool(strict="yes")]}, "tools[0].function.strict"),
    ({"tools": [tool(), tool("other"), tool()]}, "tools[2].function.name"),
    ({"tool_choice": "always"}, "tool_choice"),
    ({"tool_choice": "required"}, "tool_choice"),
    ({"tool_choice": "any"}, "tool_choice"),
    ({"tools": [tool()], "tool_choice": {"type": "function"}}, "tool_choice.function"),
    ({"tools": [tool()], "tool_choice": tool("other")}, "tool_choice.function.name"),
    ({"parallel_tool_calls": "yes"}, "parallel_tool_calls"),
    ({"reasoning_effort": "extreme"}, "reasoning_effort"),
    ({"user": LONG}, "user"),
    ({"user": 7}, "user"),
    ({"metadata": "x"}, "metadata"),
    ({"metadata": {"a": 1}}, "metadata"),
    ({"metadata": {f"a{n}": "" for n in range(17)}}, "metadata"),
    ({"metadata": {"a" * 65: ""}}, "metadata"),
    ({"metadata": {"": ""}}, "metadata"),
    ({"metadata": {"a": "b" * 513}}, "metadata"),
    (
        {"tool_choice": {"type": "function", "function": {"name": LONG}}},
        "tool_choice.function.name",
    ),
    ({"inferada": []}, "inferada"),
    ({"inferada": {"foo": 1}}, "inferada.foo"),
    ({"inferada": {"processors": False}}, "inferada.processors"),
    ({"inferada": {"processors": [7]}}, "inferada.processors[0]"),
    ({"inferada": {"language": 7}}, "inferada.language"),
    ({"inferada": {"skip_model_default": "yes"}}, "inferada.skip_model_default"),
    ({"inferada": {"require_local": {}}}, "inferada.require_local"),
    ({"inferada": {"anonymise": {"entities": "PERSON"}}}, "inferada.anonymise.entities"),
    ({"inferada": {"anonymise": {"score": 1}}}, "inferada.anonymise.score"),
    ({"inferada": {"pii_guard": {"score_threshold": 2}}}, "inferada.pii_guard.score_threshold"),
    ({"inferada": {"prompt_shield": []}}, "inferada.prompt_shield"),
    ({"inferada": {"spellcheck": {"level": 3}}}, "inferada.spellcheck.level"),
    ({"inferada": {"haystack": {"schema": []}}}, "inferada.haystack.schema"),
    ({"plugins": {}}, "plugins"),
]

MESSAGES: list[tuple[Any, str]] = [
    ("hello", ""),
    ({}, ".role"),
    ({"content": "hello"}, ".role"),
    ({"role": "ROOT", "content": "x"}, ".role"),
    ({"role": ["user"], "content": "x"}, ".role"),
    ({"role": "user"}, ".content"),
    ({"role": "user", "content": None}, ".content"),
    ({"role": "user", "content": 7}, ".content"),
    ({"role": "user", "content": []}, ".content"),
    ({"role": "user", "content": ["x"]}, ".content[0]"),
    ({"role": "user", "content": [{"type": "text"}]}, ".content[0].text"),
    ({"role": "user", "content": [{"type": "text", "text": {}}]}, ".content[0].text"),
    ({"role": "user", "content": [{"type": "video", "video": "x"}]}, ".content[0].type"),
    ({"role": "user", "content": [{"type": "image_url"}]}, ".content[0].image_url"),
    ({"role": "user", "content": [{"type": "image_url", "image_url": {}}]}, "….image_url.url"),
    (
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": 1}}]},
        ".content[0].image_url.url",
    ),
    (
        {
            "role": "user",
            "content": [{"type": "image_url", "image_url": {"url": "x", "detail": "all"}}],
        },
        ".content[0].image_url.detail",
    ),
    ({"role": "user", "content": [{"type": "input_audio"}]}, ".content[0].input_audio"),
    (
        {
            "role": "user",
            "content": [{"type": "input_audio", "input_audio": {"data": "", "format": "ogg"}}],
        },
        ".content[0].input_audio.format",
    ),
    ({"role": "system"}, ".content"),
    ({"role": "developer", "content": None}, ".content"),
    ({"role": "system", "content": [{"text": "x"}]}, ".content[0].type"),
    ({"role": "tool", "tool_call_id": "1", "content": [{"text": "x"}]}, ".content[0].type"),
    ({"role": "system", "content": [{"type": "image_url", "image_url": "x"}]}, "….type"),
    ({"role": "assistant"}, ".content"),
    ({"role": "assistant", "content": None, "tool_calls": []}, ".content"),
    ({"role": "assistant", "content": []}, ".content"),
    ({"role": "assistant", "content": [], "tool_calls": []}, ".content"),
    ({"role": "assistant", "content": 7}, ".content"),
    ({"role": "assistant", "tool_calls": [{}]}, ".tool_calls[0].type"),
    ({"role": "assistant", "tool_calls": [call(id="")]}, ".tool_calls[0].id"),
    ({"role": "assistant", "tool_calls": [call(function={})]}, "….name"),
    (
        {"role": "assistant", "tool_calls": [call(function={"name": "f", "arguments": {}})]},
        ".tool_calls[0].function.arguments",
    ),
    ({"role": "tool", "content": "x"}, ".tool_call_id"),
    ({"role": "tool", "content": "x", "tool_call_id": ""}, ".tool_call_id"),
    ({"role": "tool", "tool_call_id": "1"}, ".content"),
]


@pytest.fixture(scope="module")
def caller(site: Site) -> Caller:
    """One caller for all: none of these calls leaves anything behind that another could see."""
    return site.caller()


def name_of(case: Any) -> str:
    return repr(case)[:70]


@pytest.mark.parametrize(("members", "param"), TOP_LEVEL, ids=name_of)
def test_a_member_that_does_not_fit_is_named(
    site: Site, caller: Caller, members: dict[str, Any], param: str
) -> None:
    answer = caller.ask(**members)

    assert (answer.status, answer.error["code"]) == (400, "invalid_request"), answer.body
    assert is_meant(answer.error["param"], param)
    assert "regex" not in answer.error["message"]
    assert site.tries(answer.call_id) == []


@pytest.mark.parametrize(("message", "place"), MESSAGES, ids=name_of)
def test_a_message_that_does_not_fit_is_named(
    site: Site, caller: Caller, message: Any, place: str
) -> None:
    answer = caller.ask(messages=[HELLO, message])

    assert (answer.status, answer.error["code"]) == (400, "invalid_request"), answer.body
    assert is_meant(answer.error["param"], place if "…" in place else f"messages[1]{place}")
    assert site.tries(answer.call_id) == []


def is_meant(param: str, expected: str) -> bool:
    """True when the param is the expected one; `…` stands for any beginning."""
    if expected.startswith("…"):
        return param.endswith(expected[1:])
    return param == expected


@pytest.mark.parametrize("name", ["X-Request-Id", "X-Client-Request-Id"])
def test_an_id_that_is_too_long_is_named(site: Site, caller: Caller, name: str) -> None:
    kept = caller.ask(headers={name: "i" * 128})
    answer = caller.ask(headers={name: "i" * 129})

    assert kept.headers["x-client-request-id"] == "i" * 128
    assert (answer.status, answer.error["code"]) == (400, "invalid_request")
    assert answer.error["param"] == name


@pytest.mark.parametrize("name", ["x-disable-fallback", "x-require-parameters"])
def test_a_switch_that_is_neither_on_nor_off_is_refused(
    site: Site, caller: Caller, name: str
) -> None:
    refused = [caller.ask(headers={name: value}) for value in ("1", "yes", "no")]
    off = [caller.ask(headers={name: value}) for value in ("false", "False", "")]

    assert [(answer.status, answer.error["param"]) for answer in refused] == [(400, name)] * 3
    assert {answer.error["message"] for answer in refused} == {f"{name} must be true or false."}
    assert all(site.tries(answer.call_id) == [] for answer in refused)
    assert [answer.status for answer in off] == [200] * 3


@pytest.mark.parametrize(
    ("members", "param", "code"),
    [
        ({"plugins": [{"id": "web"}]}, "plugins[0].id", "plugin_unavailable"),
        (
            {"inferada": {"processors": ["haystacks"]}},
            "inferada.processors[0]",
            "unknown_processor",
        ),
        ({"inferada": {"processors": "haystack"}}, "inferada.processors", "invalid_request"),
        ({"guided_regex": "a+"}, "guided_regex", "unsupported_parameter"),
        ({"chat_template": "x"}, "chat_template", "unsupported_parameter"),
    ],
)
def test_what_cannot_be_done_is_refused_and_not_dropped(
    site: Site, caller: Caller, members: dict[str, Any], param: str, code: str
) -> None:
    answer = caller.ask(**members)

    assert (answer.status, answer.error["code"]) == (400, code)
    assert answer.error["param"] == param
    assert site.tries(answer.call_id) == []


NOT_JSON: dict[str, bytes] = {
    "empty": b"",
    "spaces": b"  \n",
    "cut": b'{"model":"fake-model","messages":[{"role":"user","con',
    "text": b"hello",
    "trailing comma": b'{"model":"fake-model",}',
    "two values": b"{}{}",
    "NaN": b'{"model":"fake-model","messages":[],"temperature":NaN}',
    "huge number": b'{"model":"fake-model","messages":[],"temperature":1e400}',
    "not UTF-8": b'{"model":"\xff"}',
    "UTF-16": '{"model":"fake-model"}'.encode("utf-16"),
    "byte order mark": b'\xef\xbb\xbf{"model":"fake-model"}',
    "deep": b"[" * 100_000,
    "the same name twice": b'{"model":"fake-model","model":"free-model"}',
}


@pytest.mark.parametrize("body", NOT_JSON.values(), ids=NOT_JSON)
def test_a_body_that_is_not_json_is_refused(site: Site, caller: Caller, body: bytes) -> None:
    answer = caller.ask(raw=body)

    assert (answer.status, answer.error["code"]) == (400, "invalid_json")
    assert site.tries(answer.call_id) == []


@pytest.mark.parametrize("body", [b"[]", b"7", b'"text"', b"null"])
def test_a_body_that_is_no_object_is_refused(caller: Caller, body: bytes) -> None:
    answer = caller.ask(raw=body)

    assert (answer.status, answer.error["code"]) == (400, "invalid_request")


ACCEPTED: list[dict[str, Any]] = [
    {"temperature": 0, "top_p": 0, "seed": -(2**63), "n": 1, "stop": [], "top_k": 0},
    {"temperature": 2, "top_p": 1.0, "stop": "x", "logit_bias": {"7": -100}, "user": "u" * 256},
    {"logprobs": True, "top_logprobs": 20, "frequency_penalty": -2, "presence_penalty": 2},
    {"stream_options": {"include_usage": True}},
    {"metadata": {f"{n:064}": "v" * 512 for n in range(16)}},
    {"tools": [tool("n" * 64)], "tool_choice": "none", "parallel_tool_calls": False},
    {"tools": [], "plugins": [], "response_format": {"type": "text"}, "metadata": {"a": "1"}},
    {"inferada": {}, "hi_tool_events": True},
    {
        "inferada": {
            "processors": None,
            "language": "nl",
            "skip_model_default": False,
            "anonymise": {"entities": ["PERSON"], "score_threshold": 0.7, "service_id": None},
            "pii_guard": {"entities": [], "score_threshold": 1, "allow_unscannable": True},
            "prompt_shield": {"threshold": 0.8},
            "spellcheck": {"level": "default"},
            "haystack": {"data": [{}], "schema": {}, "format": "yaml", "redact": True},
        }
    },
    {"inferada": {"processors": []}, "min_p": 0.1, "repetition_penalty": 1, "ignore_eos": False},
    {"messages": [{"role": "user", "content": ""}]},
    {"messages": [{"role": "assistant", "tool_calls": [call()]}, HELLO]},
    {"messages": [{"role": "developer", "content": [{"type": "text", "text": "x"}]}, HELLO]},
    dict.fromkeys(
        (
            *("stream", "stream_options", "temperature", "top_p", "top_k", "max_tokens", "stop"),
            *("max_completion_tokens", "frequency_penalty", "presence_penalty", "seed", "n"),
            *("logprobs", "top_logprobs", "logit_bias", "response_format", "tools", "user"),
            *("tool_choice", "parallel_tool_calls", "reasoning_effort", "metadata", "plugins"),
        )
    ),
]


@pytest.mark.parametrize("members", ACCEPTED, ids=name_of)
def test_what_lies_on_the_edge_is_accepted(caller: Caller, members: dict[str, Any]) -> None:
    answer = caller.ask(**members)

    assert answer.status == 200, answer.body


# 25 KB of JSON that took 3 s to compile, and nothing that compiles at all.
PATTERNS = ("\u3042" * 4_096, "(" * 4_000, "[a-z")


@pytest.mark.parametrize("pattern", PATTERNS, ids=["long", "deep", "open"])
@pytest.mark.parametrize("name", ["guided_regex", "guided_whitespace_pattern"])
def test_an_expression_is_not_looked_into_before_the_model_is(
    caller: Caller, name: str, pattern: str
) -> None:
    answer = caller.ask(**{"model": "no-such-model", name: pattern})

    assert (answer.status, answer.error["code"]) == (404, "model_not_found")
