"""Requests to /responses that are refused: each names what is wrong by its place in this format."""

from __future__ import annotations

from typing import Any

import pytest

from tests.flows.caller import Caller
from tests.flows.responses.asking import LOOK_UP, respond
from tests.flows.responses.test_input import PNG
from tests.flows.site import Site

USER = {"role": "user", "content": "hello"}
LEFT_OUT = ...
REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "nothing to include": ({"include": ["bogus"]}, "invalid_request", "include[0]"),
    "no input": ({"input": LEFT_OUT}, "invalid_request", "input"),
    "an empty input": ({"input": []}, "invalid_request", "input"),
    "an item of no kind": ({"input": [{}]}, "invalid_request", "input[0].role"),
    "an unknown role": ({"input": [USER, {"role": "king"}]}, "invalid_request", "input[1].role"),
    "no content": ({"input": [{"role": "user"}]}, "invalid_request", "input[0].content"),
    "a part of another format": (
        {"input": [{"role": "user", "content": [{"type": "text", "text": "x"}]}]},
        "invalid_request",
        "input[0].content[0].type",
    ),
    "a picture of nothing": (
        {"input": [{"role": "user", "content": [{"type": "input_image"}]}]},
        "invalid_request",
        "input[0].content[0].image_url",
    ),
    "an address that is none": (
        {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}]},
        "invalid_request",
        "input[0].content[0].image_url",
    ),
    "a file that is not there": (
        {"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "file-1"}]}]},
        "file_not_found",
        "input[0].content[0]",
    ),
    "an item of no word": (
        {"input": [USER, {"type": ["message"], "role": "user", "content": "x"}]},
        "invalid_request",
        "input[1].type",
    ),
    "an item of a hosted tool": (
        {"input": [USER, {"type": "computer_call", "id": "cu_1"}]},
        "unsupported_parameter",
        "input[1].type",
    ),
    "an item that nobody has": (
        {"input": [{"type": "item_reference", "id": "msg_1"}]},
        "invalid_request",
        "input[0].id",
    ),
    "reasoning that was changed": (
        {"input": [USER, {"type": "reasoning", "encrypted_content": "reasoning_details.x"}]},
        "invalid_request",
        "input[1].encrypted_content",
    ),
    "a hosted tool": (
        {"tools": [{"type": "file_search"}]},
        "unsupported_parameter",
        "tools[0].type",
    ),
    "a tool of another format": (
        {"tools": [{"type": "function", "function": {"name": "x"}}]},
        "invalid_request",
        "tools[0].name",
    ),
    "two tools of one name": (
        {"tools": [LOOK_UP, LOOK_UP]},
        "invalid_request",
        "tools[1].name",
    ),
    "a choice of no tool": (
        {"tools": [LOOK_UP], "tool_choice": {"type": "function", "name": "other"}},
        "invalid_request",
        "tool_choice.name",
    ),
    "a choice of a hosted tool": (
        {"tool_choice": {"type": "file_search"}},
        "unsupported_parameter",
        "tool_choice.type",
    ),
    "an allowed tool that is none": (
        {
            "tools": [LOOK_UP],
            "tool_choice": {
                "type": "allowed_tools",
                "mode": "auto",
                "tools": [{"type": "function", "name": "other"}],
            },
        },
        "invalid_request",
        "tool_choice.tools[0].name",
    ),
    "required without tools": ({"tool_choice": "required"}, "invalid_request", "tool_choice"),
    "a schema that is elsewhere": (
        {"text": {"format": {"type": "json_schema", "name": "x", "schema": {"$ref": "http://x"}}}},
        "invalid_request",
        "text.format.schema",
    ),
    "no such effort": (
        {"reasoning": {"effort": "great"}},
        "invalid_request",
        "reasoning.effort",
    ),
    "no output at all": ({"max_output_tokens": 0}, "invalid_request", "max_output_tokens"),
    "a member of chat completions": ({"max_tokens": 5}, "invalid_request", "max_tokens"),
    "several answers": ({"n": 2}, "invalid_request", "n"),
    "messages": ({"messages": [USER]}, "invalid_request", "messages"),
    "background": ({"background": True}, "unsupported_parameter", "background"),
    "conversation": ({"conversation": "conv_1"}, "unsupported_parameter", "conversation"),
    "prompt": ({"prompt": {"id": "pmpt_1"}}, "unsupported_parameter", "prompt"),
    "an address of one's own": ({"api_base": "http://x"}, "invalid_request", "api_base"),
    "unknown members that are denied": (
        {"tensorzero::deny_unknown_fields": True, "surprise": 1},
        "invalid_request",
        "surprise",
    ),
    "a model that is not there": ({"model": "nothing"}, "model_not_found", "model"),
}


@pytest.mark.parametrize(("members", "code", "param"), REFUSED.values(), ids=REFUSED)
def test_refused(caller: Caller, members: dict[str, Any], code: str, param: str) -> None:
    given = members.pop("input", "hello") if "input" in members else "hello"

    answer = respond(caller, given, **members)

    assert answer.status in (400, 404), answer.body
    assert (answer.error["code"], answer.error["param"]) == (code, param), answer.error


def test_a_model_without_eyes(site: Site, caller: Caller) -> None:
    site.add_model("blind-model")
    site.office.do("describe_model", name="blind-model", supports_vision=False)
    site.add_model("model-after-the-blind-one")
    picture = {"type": "input_image", "image_url": PNG}
    blind = caller.with_(model="blind-model")

    answer = respond(blind, [{"role": "user", "content": [picture]}])

    assert answer.status == 400
    assert answer.error["code"] == "image_not_supported_by_model"


@pytest.fixture(scope="module")
def claude(site: Site) -> Caller:
    """A caller of a model that is strict about who speaks when."""
    base_url = f"{site.upstream.origin}/anthropic/v1"
    name = "strict-claude"
    site.office.do("provider", name=name, kind="anthropic", base_url=base_url, credential="x")
    site.add_model(name, provider=name, native_model="claude-haiku-4-5-20251001")
    return site.caller().with_(model=name)


@pytest.mark.parametrize(
    ("given", "param", "said"),
    [
        (
            [USER, {"type": "function_call_output", "call_id": "call_1", "output": "x"}],
            "input[1].call_id",
            "The preceding assistant message has no tool call with this ID.",
        ),
        (
            [USER, {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}"}],
            "input",
            "The tool call call_1 has no result after it.",
        ),
        (
            [{"role": "system", "content": "Be brief."}, {"role": "user", "content": " "}],
            "input",
            "There is no user message with content in input.",
        ),
    ],
)
def test_a_conversation_that_the_provider_cannot_have_is_worded_for_this_format(
    claude: Caller, given: list[dict[str, Any]], param: str, said: str
) -> None:
    answer = respond(claude, given)

    assert (answer.status, answer.error["param"]) == (400, param)
    assert answer.error["message"] == said


def test_no_body_at_all(caller: Caller) -> None:
    answer = caller.ask(path="/v1/responses", raw=b"{")

    assert answer.error["code"] == "invalid_json"


def test_an_empty_wallet(site: Site) -> None:
    answer = respond(site.caller(credit_nusd=0))

    assert (answer.status, answer.error["code"]) == (402, "insufficient_credits")


def test_a_key_without_the_scope(site: Site) -> None:
    answer = respond(site.caller(scopes=["usage"]))

    assert (answer.status, answer.error["code"]) == (403, "insufficient_scope")


def test_the_values_of_include_are_listed(caller: Caller) -> None:
    answer = respond(caller, include=["reasoning.encrypted_content", "bogus"])

    assert answer.error["message"].startswith("include[1] must be one of: ")
    for name in ("message.output_text.logprobs", "web_search_call.action.sources"):
        assert name in answer.error["message"]
