"""Mistral, which checks conversations and answers in parts: tests/fakes/mistral.py judges."""

from __future__ import annotations

from typing import Any

import pytest

from tests.flows.caller import Answer, Caller
from tests.flows.look_alikes.conftest import LookAlikes
from tests.flows.look_alikes.test_fields import ECHO, sent
from tests.flows.whole_message import message_of

BOTH = pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
WELL = {"role": "user", "content": "Well?"}


@pytest.fixture
def caller(look_alikes: LookAlikes) -> Caller:
    return look_alikes.caller("mistral")


def call(*ids: str) -> dict[str, Any]:
    function = {"name": "look_up", "arguments": "{}"}
    calls = [{"id": each, "type": "function", "function": function} for each in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(call_id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": "Rain"}


def messages_of(answer: Answer) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = sent(answer)["messages"]
    return messages


def test_ids_of_calls_get_nine_letters_and_digits(caller: Caller) -> None:
    theirs, ours = "a1B2c3D4e", "call_PTLP8xhu3uwZk4l3nlnrrJha"

    answer = caller.ask(messages=[WELL, call(theirs, ours), result(ours), result(theirs), ECHO])

    _, asked, first, second, *_ = messages_of(answer)
    ids = [each["id"] for each in asked["tool_calls"]]
    assert ids == [second["tool_call_id"], first["tool_call_id"]]
    assert ids[0] == theirs
    assert len(ids[1]) == 9
    assert ids[1].isalnum()


def test_the_assistant_speaks_between_results_and_the_user(caller: Caller) -> None:
    said = {"role": "assistant", "content": "It rains."}
    turn = [WELL, call("call_1"), result("call_1")]

    answer = caller.ask(messages=[*turn, said, *turn, ECHO])

    roles = [message["role"] for message in messages_of(answer)]
    assert roles == ["user", "assistant", "tool", "assistant"] * 2 + ["user"]
    assert messages_of(answer)[7] == {"role": "assistant", "content": "OK."}


def test_results_come_before_what_the_user_said_between_them(caller: Caller) -> None:
    turn = [WELL, call("call_1", "call_2"), result("call_1"), WELL, result("call_2")]

    answer = caller.ask(messages=[*turn, ECHO])

    roles = [message["role"] for message in messages_of(answer)]
    assert roles == ["user", "assistant", "tool", "tool", "assistant", "user", "user"]


@pytest.mark.parametrize("before", [[], [WELL, {"role": "assistant", "content": "Yes."}]])
def test_what_the_system_says_last_is_answered(caller: Caller, before: list[Any]) -> None:
    answer = caller.ask(messages=[*before, ECHO | {"role": "system"}])

    assert messages_of(answer)[-1] == ECHO


@pytest.mark.parametrize("role", ["system", "developer"])
def test_what_the_system_says_late_comes_first(caller: Caller, role: str) -> None:
    said = {"role": "assistant", "content": "Yes."}
    one, two, three = (
        {"role": role, "content": f"Be {word}."} for word in ("kind", "brief", "fair")
    )

    answer = caller.ask(messages=[one, WELL, two, said, three, ECHO])

    messages = messages_of(answer)
    assert [message["content"] for message in messages] == [
        "Be kind.",
        "Be fair.",
        "Well?",
        "Be brief.",
        "Yes.",
        "script:echo",
    ]


def test_a_function_without_parameters_gets_none(caller: Caller) -> None:
    tools = [
        {"type": "function", "function": {"name": "one"}},
        {"type": "function", "function": {"name": "two", "parameters": {"type": "object"}}},
    ]

    answer = caller.ask("script:echo", tools=tools)

    parameters = [tool["function"]["parameters"] for tool in sent(answer)["tools"]]
    assert parameters == [{"type": "object", "properties": {}}, {"type": "object"}]


def test_a_last_message_of_the_assistant_is_the_beginning_of_the_answer(caller: Caller) -> None:
    begun = {"role": "assistant", "content": "{"}

    answer = caller.ask(messages=[ECHO, begun])

    assert messages_of(answer)[-1] == begun | {"prefix": True}


@BOTH
def test_thinking_among_the_parts_of_an_answer_is_reasoning(caller: Caller, stream: bool) -> None:
    script = "script:reasoning=2&tokens=2&reasoning_field=content"

    message = message_of(caller.ask(script, stream=stream))

    assert (message["reasoning"], message["content"]) == ("think0 think1 ", "tok0 tok1 ")
