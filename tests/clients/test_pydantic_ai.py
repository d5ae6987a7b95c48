"""Pydantic AI on both mounts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import openai
import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput, ToolOutput
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from tests.clients.conftest import Keys
from tests.clients.witnesses import (
    assert_call_left,
    assert_prompt_paid,
    calls_begun,
    wait_for_call,
)
from tests.support.servers import GatewayServer, UpstreamServer

SIMULATED = "tollhouse/simulated"
NewAgent = Callable[..., Agent[None, Any]]


class Forecast(BaseModel):
    """What the weather will be."""

    place: str
    celsius: int


@pytest.fixture
async def agent(base_url: str, shared_gateway: GatewayServer) -> AsyncIterator[NewAgent]:
    """Return what makes an agent. model: its model's name. key: its secret."""
    async with openai.AsyncOpenAI(
        api_key=shared_gateway.key, base_url=base_url, max_retries=0
    ) as client:

        def make(*, model: str = "fake-model", key: str = "", **members: Any) -> Agent[None, Any]:
            provider = OpenAIProvider(
                openai_client=client.with_options(api_key=key or shared_gateway.key)
            )
            return Agent(OpenAIChatModel(model, provider=provider), **members)

        yield make


async def run(agent: Agent[None, Any], asked: str) -> Any:
    """Return the result of a run that is not streamed."""
    return await agent.run(asked)


async def stream(agent: Agent[None, Any], asked: str, said: list[Any] | None = None) -> Any:
    """Return the result of a streamed run, read to its end. said: gets each state of the output."""
    async with agent.run_stream(asked) as result:
        async for piece in result.stream_output(debounce_by=None):
            if said is not None:
                said.append(piece)
    return result


BOTH = pytest.mark.parametrize("how", [run, stream], ids=["buffered", "streamed"])


async def output_of(result: Any) -> Any:
    """Return what a run of either kind came to."""
    return await result.get_output() if hasattr(result, "get_output") else result.output


@pytest.mark.parametrize("model", ["fake-model", SIMULATED])
async def test_a_stream_says_and_counts_what_a_buffered_answer_does(
    agent: NewAgent, model: str
) -> None:
    asked, said = "script:tokens=7&reasoning=2", list[Any]()

    buffered = await run(agent(model=model), asked)
    streamed = await stream(agent(model=model), asked, said)

    assert len(buffered.output.split()) == 7
    assert await output_of(streamed) == said[-1] == buffered.output
    assert len(said) >= 7
    assert buffered.usage.output_tokens == 9
    assert streamed.usage == buffered.usage
    assert streamed.response.finish_reason == buffered.response.finish_reason == "stop"
    assert buffered.response.provider_response_id.startswith("chatcmpl-")


@BOTH
async def test_a_tool_is_called_and_its_result_answered(agent: NewAgent, how: Any) -> None:
    cities = []

    def get_weather(city: str) -> str:
        """Look up the weather of a city."""
        cities.append(city)
        return "21 degrees"

    result = await how(agent(model=SIMULATED, tools=[get_weather]), "What is the weather?")

    parts = [part.part_kind for message in result.all_messages() for part in message.parts]
    assert parts == ["user-prompt", "tool-call", "tool-return", "text"]
    assert len(cities) == 1
    assert await output_of(result)


# How each model is brought to fill in the schema: by itself, or through a tool of that shape.
SCHEMAS: dict[str, tuple[str, Any, str]] = {
    "fake-model as schema": ("fake-model", NativeOutput(Forecast), "Paris"),
    "fake-model as tool": (
        *("fake-model", ToolOutput(Forecast)),
        'script:tools=1&args={"place":"Paris","celsius":7}',
    ),
    "simulated as schema": (SIMULATED, NativeOutput(Forecast), "Paris"),
    "simulated as tool": (SIMULATED, ToolOutput(Forecast), "Paris"),
}


@BOTH
@pytest.mark.parametrize(("model", "output", "asked"), SCHEMAS.values(), ids=SCHEMAS)
async def test_an_answer_is_an_object_of_the_schema(
    agent: NewAgent, model: str, output: Any, asked: str, how: Any
) -> None:
    result = await how(agent(model=model, output_type=output), asked)

    assert isinstance(await output_of(result), Forecast)
    assert result.usage.requests == 1


ERRORS: dict[str, tuple[str, dict[str, Any], str]] = {
    "400": ("invalid_request", {"model_settings": {"temperature": 3}}, "Hello"),
    "401": ("invalid_api_key", {"key": "sk-gw-wrong"}, "Hello"),
    "404": ("model_not_found", {"model": "no/such"}, "Hello"),
    "429": ("provider_rate_limit", {}, "script:fail=429"),
    "502": ("provider_unavailable", {}, "script:fail=500"),
    "504": ("provider_timeout", {}, "script:fail=504"),
}


@BOTH
@pytest.mark.parametrize("case", ERRORS)
async def test_a_failure_is_told_with_its_status_and_code(
    agent: NewAgent, case: str, how: Any
) -> None:
    code, members, asked = ERRORS[case]

    with pytest.raises(ModelHTTPError) as caught:
        await how(agent(**members), asked)

    assert isinstance(caught.value.body, dict)
    assert (caught.value.status_code, caught.value.body["code"]) == (int(case), code)
    assert caught.value.body["message"]


@BOTH
async def test_a_workspace_without_money_is_told_so(agent: NewAgent, keys: Keys, how: Any) -> None:
    with pytest.raises(ModelHTTPError) as caught:
        await how(agent(key=keys.poor), "Hello")

    assert caught.value.status_code == 402


async def test_a_stream_left_half_way_ends_everywhere(
    agent: NewAgent, shared_gateway: GatewayServer, upstream: UpstreamServer
) -> None:
    before = calls_begun(upstream)

    async with agent().run_stream("script:tokens=9999&delay_ms=5") as result:
        async for said in result.stream_output(debounce_by=None):
            if len(said.split()) >= 10:
                break

    record = await assert_call_left(shared_gateway, upstream, before)
    assert 10 <= record["tokens_completion"] < 9999
    assert int(record["cost_nano_usd"]) > 0


async def test_a_run_whose_task_is_cancelled_ends_everywhere(
    agent: NewAgent, shared_gateway: GatewayServer, upstream: UpstreamServer
) -> None:
    before = calls_begun(upstream)
    running = asyncio.ensure_future(agent().run("script:hang"))
    await asyncio.to_thread(wait_for_call, upstream, before)

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    record = await assert_call_left(shared_gateway, upstream, before)
    assert_prompt_paid(record)
