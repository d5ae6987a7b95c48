"""A value that does not fit is refused with what would."""

from __future__ import annotations

import json

import pytest

from tests.flows.caller import Caller
from tests.flows.site import Site

MESSAGES = [{"role": "user", "content": "hello"}]
CHAT, ANTHROPIC, RESPONSES = "/v1/chat/completions", "/v1/messages", "/v1/responses"


@pytest.fixture(scope="module")
def caller(site: Site) -> Caller:
    return site.caller()


@pytest.mark.parametrize(
    ("member", "value", "said"),
    [
        ("max_tokens", 0, "must be at least 1"),
        ("max_tokens", 1.5, "must be an integer, not a floating-point number"),
        ("temperature", 3, "must be at most 2"),
        ("temperature", "hot", "must be a number, not a string"),
        ("stop", [""], "[0] must have at least 1 character"),
        ("logit_bias", {"a": 1}, "must be an object whose keys are token IDs of 1 to 10 digits"),
        ("messages", [], "must have at least 1 item"),
        ("messages", None, "must be an array, not null"),
        ("response_format", "json", "must be an object, not a string"),
        ("user", "a\nb", "must be text without control characters"),
    ],
)
def test_what_a_member_must_be_is_said_in_words(
    caller: Caller, member: str, value: object, said: str
) -> None:
    body = {"model": caller.model, "messages": MESSAGES, member: value}

    answer = caller.ask(raw=json.dumps(body).encode())

    assert answer.status == 400
    message = answer.error["message"]
    assert message.removeprefix(member).lstrip() == f"{said}."


@pytest.mark.parametrize(
    ("member", "value", "said"),
    [
        ("metadata", {"a": 1}, "Each value of metadata must be a string, not an integer."),
        ("metadata", {"": "x"}, "Each name in metadata must have at least 1 character."),
        ("logit_bias", {"7": 101}, "Each value of logit_bias must be at most 100."),
    ],
)
def test_what_is_wrong_inside_a_map_is_not_said_of_the_map(
    caller: Caller, member: str, value: object, said: str
) -> None:
    body = {"model": caller.model, "messages": MESSAGES, member: value}

    answer = caller.ask(raw=json.dumps(body).encode())

    assert (answer.status, answer.error["param"]) == (400, member)
    assert answer.error["message"] == said


PICTURE = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({"role": "assistant"}, "text, refusal"),
        ({"role": "system"}, "text"),
    ],
)
def test_parts_are_offered_that_a_message_of_the_role_may_have(
    caller: Caller, message: dict[str, object], words: str
) -> None:
    messages = [*MESSAGES, message | {"content": [PICTURE]}]

    answer = caller.ask(raw=json.dumps({"model": caller.model, "messages": messages}).encode())

    place = "messages[1].content[0].type"
    assert (answer.status, answer.error["param"]) == (400, place)
    assert answer.error["message"] == f"{place} must be one of: {words}."


@pytest.mark.parametrize(
    ("path", "body", "param", "words"),
    [
        (
            CHAT,
            {"messages": MESSAGES, "tool_choice": "x"},
            "tool_choice",
            "any, auto, none, required",
        ),
        (
            CHAT,
            {"messages": [{"role": "king", "content": "x"}]},
            "messages[0].role",
            "system, developer, user, assistant, tool, function",
        ),
        (
            CHAT,
            {"messages": MESSAGES, "response_format": {"type": "x"}},
            "response_format.type",
            "text, json_object, json_schema",
        ),
        (
            ANTHROPIC,
            {"messages": MESSAGES, "max_tokens": 5, "service_tier": "x"},
            "service_tier",
            "auto, standard_only",
        ),
        (
            ANTHROPIC,
            {"messages": [{"role": "king", "content": "x"}], "max_tokens": 5},
            "messages.0.role",
            "user, assistant, system",
        ),
        (RESPONSES, {"input": "hello", "truncation": "x"}, "truncation", "auto, disabled"),
    ],
)
def test_the_words_that_a_member_may_be_are_in_the_error(
    caller: Caller, path: str, body: dict[str, object], param: str, words: str
) -> None:
    raw = json.dumps({"model": caller.model, **body}).encode()

    answer = caller.ask(path=path, raw=raw)

    assert answer.status == 400
    assert answer.json["error"]["message"] == f"{param} must be one of: {words}."
