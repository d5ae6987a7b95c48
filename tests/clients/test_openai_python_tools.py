"""openai-python, sync and async, on both mounts: tools, and answers that fit a JSON schema."""

from __future__ import annotations

import json
from typing import Any, Literal

import openai
import pytest
from pydantic import BaseModel

from tests.clients.sdk import ask, each, opened, outcome, stream, user

SIMULATED = "tollhouse/simulated"
# What makes each model call the tool: the one is scripted, the other heeds the tool's name.
ASKED = {
    "fake-model": "script:tools=1&reasoning=2&text=Mild+in+Paris",
    SIMULATED: "What is the weather?",
}
MODELS = pytest.mark.parametrize("model", ASKED)


class Weather(BaseModel):
    """Look up the weather of a city."""

    city: str


class Forecast(BaseModel):
    """An answer with nesting, a list, a choice and something that may be absent."""

    class Day(BaseModel):
        name: str
        celsius: int

    place: str
    kind: Literal["short", "long"]
    days: list[Day]
    likely: bool
    note: str | None


WEATHER: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": Weather.model_json_schema(),
        "description": "Look up the weather of a city.",
    },
}
SCHEMA = {
    "type": "json_schema",
    "json_schema": {"name": "forecast", "schema": Forecast.model_json_schema()},
}


def answered(model: str, message: Any) -> list[Any]:
    """Return the conversation after the tool was called and has said what it knows.

    The client's own message object goes back as it came, as everybody's code has it.
    """
    return [
        *user(ASKED[model]),
        message,
        *(
            {"role": "tool", "tool_call_id": call.id, "content": '{"celsius": 21}'}
            for call in message.tool_calls
        ),
    ]


async def test_a_tool_is_called_and_its_result_answered(client: Any) -> None:
    first = await ask(client, ASKED[SIMULATED], model=SIMULATED, tools=[WEATHER])
    conversation = answered(SIMULATED, first.choices[0].message)
    second = await ask(client, conversation, model=SIMULATED, tools=[WEATHER])

    [call] = first.choices[0].message.tool_calls
    assert first.choices[0].finish_reason == "tool_calls"
    assert first.choices[0].message.content is None
    assert call.function.name == "get_weather"
    assert json.loads(call.function.arguments)["city"]
    assert second.choices[0].finish_reason == "stop"
    assert second.choices[0].message.tool_calls is None
    assert second.choices[0].message.content


async def test_a_tool_call_is_streamed_in_pieces(client: Any) -> None:
    chunks = await stream(client, ASKED[SIMULATED], model=SIMULATED, tools=[WEATHER])

    pieces = [call for c in chunks for call in c.choices[0].delta.tool_calls or []]
    opening, *rest = pieces
    assert (opening.index, opening.type, opening.function.name) == (0, "function", "get_weather")
    assert opening.id
    assert opening.function.arguments == ""
    assert all(piece.id is None and piece.function.name is None for piece in rest)
    assert json.loads("".join(piece.function.arguments for piece in rest))["city"]
    assert chunks[-2].choices[0].finish_reason == "tool_calls"


@MODELS
async def test_the_stream_helper_makes_the_round_trip(client: Any, model: str) -> None:
    async def run(messages: list[Any]) -> tuple[set[str], Any]:
        helper = client.chat.completions.stream(
            model=model, messages=messages, tools=[openai.pydantic_function_tool(Weather)]
        )
        async with opened(helper) as events:
            seen = {event.type async for event in each(events)}
            return seen, await outcome(events.get_final_completion())

    seen, first = await run(user(ASKED[model]))
    _, second = await run(answered(model, first.choices[0].message))

    [call] = first.choices[0].message.tool_calls
    assert "tool_calls.function.arguments.done" in seen
    assert isinstance(call.function.parsed_arguments, Weather)
    assert first.choices[0].finish_reason == "tool_calls"
    assert second.choices[0].message.content


async def test_several_tools_are_called_at_once(client: Any) -> None:
    buffered = await ask(client, "script:tools=3", tools=[WEATHER])
    chunks = await stream(client, "script:tools=3", tools=[WEATHER])

    pieces = [call for c in chunks for call in c.choices[0].delta.tool_calls or []]
    streamed = {
        index: "".join(p.function.arguments for p in pieces if p.index == index)
        for index in (0, 1, 2)
    }
    calls = buffered.choices[0].message.tool_calls
    assert len({call.id for call in calls}) == 3
    assert [call.function.arguments for call in calls] == list(streamed.values())


@pytest.mark.parametrize(
    ("choice", "finish"),
    [
        ("required", "tool_calls"),
        ({"type": "function", "function": {"name": "get_weather"}}, "tool_calls"),
        ("none", "stop"),
    ],
    ids=["required", "named", "none"],
)
async def test_the_choice_of_a_tool_is_heeded(client: Any, choice: Any, finish: str) -> None:
    answer = await ask(client, "Good morning", model=SIMULATED, tools=[WEATHER], tool_choice=choice)

    assert answer.choices[0].finish_reason == finish


@MODELS
async def test_parse_returns_an_object_of_the_schema(client: Any, model: str) -> None:
    answer = await outcome(
        client.chat.completions.parse(
            model=model, messages=user("Paris, please"), response_format=Forecast
        )
    )

    assert isinstance(answer.choices[0].message.parsed, Forecast)


@MODELS
async def test_the_stream_helper_parses_an_object_of_the_schema(client: Any, model: str) -> None:
    helper = client.chat.completions.stream(
        model=model, messages=user("Paris, please"), response_format=Forecast
    )

    async with opened(helper) as events:
        answer = await outcome(events.get_final_completion())

    assert isinstance(answer.choices[0].message.parsed, Forecast)


@MODELS
async def test_parse_reads_the_arguments_of_a_tool(client: Any, model: str) -> None:
    answer = await outcome(
        client.chat.completions.parse(
            model=model,
            messages=user(ASKED[model]),
            tools=[openai.pydantic_function_tool(Weather, name="get_weather")],
        )
    )

    [call] = answer.choices[0].message.tool_calls
    assert isinstance(call.function.parsed_arguments, Weather)


@MODELS
async def test_a_schema_given_by_hand_is_heeded(client: Any, model: str) -> None:
    answer = await ask(client, "Paris, please", model=model, response_format=SCHEMA)
    chunks = await stream(client, "Paris, please", model=model, response_format=SCHEMA)

    streamed = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    texts = (answer.choices[0].message.content, streamed)
    assert [len(Forecast.model_validate_json(text).days) for text in texts] == [1, 1]


@MODELS
async def test_any_json_object_will_do_when_no_schema_is_given(client: Any, model: str) -> None:
    answer = await ask(
        client, "Answer in JSON", model=model, response_format={"type": "json_object"}
    )

    assert isinstance(json.loads(answer.choices[0].message.content), dict)


async def test_an_answer_cut_short_is_told_from_one_that_fits(client: Any) -> None:
    with pytest.raises(openai.LengthFinishReasonError) as caught:
        await outcome(
            client.chat.completions.parse(
                model="fake-model",
                messages=user("Paris, please"),
                response_format=Forecast,
                max_completion_tokens=2,
            )
        )

    assert caught.value.completion.usage is not None
    assert caught.value.completion.usage.completion_tokens == 2
