"""Clients of /responses: openai-python on both mounts, and OpenAI's Agents SDK."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest
from pydantic import BaseModel

from tests.clients import environments
from tests.clients.battery import Report, run_program
from tests.clients.sdk import each, opened, outcome
from tests.support.servers import ROOT, GatewayServer

WORDS = "tok0 tok1 tok2 tok3 tok4 "
TOOL: dict[str, Any] = {
    "type": "function",
    "name": "get_weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    "strict": False,
}


class Forecast(BaseModel):
    place: str
    celsius: int


async def respond(client: Any, given: Any, **members: Any) -> Any:
    return await outcome(client.responses.create(model="fake-model", input=given, **members))


async def test_a_question_is_answered(client: Any) -> None:
    response = await respond(client, "script:tokens=5&reasoning=2", instructions="Be short.")

    assert response.output_text == WORDS
    assert response.status == "completed"
    assert [item.type for item in response.output] == ["reasoning", "message"]
    assert response.usage.output_tokens == 7
    assert response.usage.output_tokens_details.reasoning_tokens == 2


async def test_a_stream_is_read(client: Any) -> None:
    stream = await respond(client, "script:tokens=5", stream=True)
    events = [event async for event in each(stream)]

    said = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert "".join(said) == WORDS
    assert events[-1].type == "response.completed"
    assert events[-1].response.output_text == WORDS


async def test_the_helper_for_streams_puts_the_response_together(client: Any) -> None:
    manager = client.responses.stream(model="fake-model", input="script:tools=2", tools=[TOOL])
    async with opened(manager) as stream:
        async for _ in each(stream):
            pass
        response = await outcome(stream.get_final_response())

    assert [call.arguments for call in response.output] == ['{"city":"Paris"}'] * 2


async def test_an_answer_is_parsed_by_its_schema(client: Any) -> None:
    response = await outcome(
        client.responses.parse(model="fake-model", input="Paris", text_format=Forecast)
    )

    assert isinstance(response.output_parsed, Forecast)


async def test_a_tool_is_called_and_answers(client: Any) -> None:
    asked = [{"role": "user", "content": "script:tools=1&text=Mild"}]
    first = await respond(client, asked, tools=[TOOL])
    [call] = first.output
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "21 degrees"}

    second = await respond(client, [*asked, call, result], tools=[TOOL])

    assert json.loads(call.arguments) == {"city": "Paris"}
    assert second.output_text.split() == ["Mild"]


async def test_a_stream_that_breaks_raises(client: Any) -> None:
    stream = await respond(client, "script:tokens=9&reset_after=3", stream=True)

    with pytest.raises(openai.APIError) as raised:
        [event async for event in each(stream)]

    assert raised.value.code == "provider_unavailable"


async def test_a_refusal_names_the_field(client: Any) -> None:
    with pytest.raises(openai.BadRequestError) as raised:
        await respond(client, [{"role": "king", "content": "x"}])

    assert raised.value.param == "input[0].role"


@pytest.fixture(scope="module")
def agents(shared_gateway: GatewayServer) -> Report:
    """What OpenAI's Agents SDK saw."""
    folder = environments.install("newest")
    command, env = environments.command_in(folder, "-m", "tests.clients.python", "agents_sdk")
    told = {"BASE_URL": shared_gateway.base_url, "KEY": shared_gateway.key}
    told |= {"PROFILES": "{}", "SNIPPETS": "{}"}
    report = run_program(command, ROOT, env | told)
    return {case.removeprefix("agents_sdk: "): seen for case, seen in report.items()}


@pytest.mark.parametrize("case", ["buffered", "streamed"])
def test_an_agent_answers(agents: Report, case: str) -> None:
    seen = agents[case]

    assert seen["text"] == WORDS
    assert seen["usage"][1] == 7


@pytest.mark.parametrize("case", ["tools", "tools streamed"])
def test_an_agent_calls_its_tools(agents: Report, case: str) -> None:
    seen = agents[case]

    assert seen["calls"] == [["get_weather", '{"city":"Paris"}']] * 2
    assert seen["text"].split() == ["Mild"]


def test_an_agent_goes_on_with_a_conversation(agents: Report) -> None:
    assert agents["two turns"]["text"].split() == ["Two"]


def test_an_agent_raises_when_a_stream_breaks(agents: Report) -> None:
    assert agents["failure"]["raised"]
