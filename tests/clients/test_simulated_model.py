"""The simulated model, read by openai-python: several choices, and functions from before tools."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
from openai import OpenAI

from tests.support.servers import GatewayServer

MODEL = "tollhouse/simulated"
WEATHER = {"name": "get_weather", "parameters": {"type": "object", "properties": {}}}


@pytest.fixture(scope="module")
def simulated(shared_gateway: GatewayServer) -> Iterator[OpenAI]:
    address = shared_gateway.base_url
    with OpenAI(api_key=shared_gateway.key, base_url=address, max_retries=0) as client:
        yield client


def create(client: OpenAI, content: str, **members: Any) -> Any:
    messages = members.pop("messages", [{"role": "user", "content": content}])
    return client.chat.completions.create(model=MODEL, messages=messages, **members)


def test_it_makes_as_many_choices_as_are_asked_for(simulated: OpenAI) -> None:
    one = create(simulated, "script:tokens=5")
    three = create(simulated, "script:tokens=5", n=3)
    chunks = list(create(simulated, "script:tokens=5", n=3, stream=True))

    assert [choice.index for choice in three.choices] == [0, 1, 2]
    texts = [choice.message.content for choice in three.choices]
    assert texts == [one.choices[0].message.content] * 3
    assert (one.usage.completion_tokens, three.usage.completion_tokens) == (5, 15)
    streamed: dict[int, str] = defaultdict(str)
    ends: dict[int, str] = {}
    for chunk in chunks:
        for choice in chunk.choices:
            streamed[choice.index] += choice.delta.content or ""
            if choice.finish_reason:
                ends[choice.index] = choice.finish_reason
    assert list(streamed.values()) == texts
    assert ends == {0: "stop", 1: "stop", 2: "stop"}
    assert [chunk.usage.completion_tokens for chunk in chunks if chunk.usage] == [15]


def test_functions_are_answered_with_a_function_call(simulated: OpenAI) -> None:
    asked = "What is the weather?"
    answer = create(simulated, asked, functions=[WEATHER]).choices[0]
    forced = {"name": "get_weather"}
    named = create(simulated, "Hello", functions=[WEATHER], function_call=forced).choices[0]
    free = create(simulated, asked, functions=[WEATHER], function_call="none").choices[0]
    chunks = list(create(simulated, asked, functions=[WEATHER], stream=True))

    for choice in (answer, named):
        assert choice.finish_reason == "function_call"
        assert choice.message.function_call.name == "get_weather"
        assert choice.message.function_call.arguments == "{}"
        assert not choice.message.tool_calls
    assert free.finish_reason == "stop"
    deltas = [chunk.choices[0].delta.function_call for chunk in chunks if chunk.choices]
    parts = [delta for delta in deltas if delta]
    assert parts[0].name == "get_weather"
    assert "".join(part.arguments for part in parts) == "{}"
    reasons = [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices]
    assert [reason for reason in reasons if reason] == ["function_call"]

    talk = [
        {"role": "user", "content": asked},
        answer.message.model_dump(include={"role", "content", "function_call"}),
        {"role": "function", "name": "get_weather", "content": "Sunny."},
    ]
    last = create(simulated, "", messages=talk, functions=[WEATHER]).choices[0]
    assert last.message.content == "The tool answered: Sunny."
