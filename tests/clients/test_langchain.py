"""LangChain's ChatOpenAI on both mounts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import reduce
from operator import add
from typing import Any

import httpx
import openai
import pytest
from langchain_openai import ChatOpenAI
from pydantic import BaseModel

from tests.clients.conftest import Keys
from tests.clients.sdk import each, outcome
from tests.clients.witnesses import (
    assert_call_left,
    assert_prompt_paid,
    calls_begun,
    wait_for_call,
)
from tests.support.servers import GatewayServer, UpstreamServer

Chat = Callable[..., ChatOpenAI]


class Forecast(BaseModel):
    """What the weather will be."""

    place: str
    celsius: int


@pytest.fixture
async def chat(base_url: str, shared_gateway: GatewayServer) -> AsyncIterator[Chat]:
    """Return what makes a chat model; members differ from the usual ones."""
    with httpx.Client() as client:
        async with httpx.AsyncClient() as async_client:

            def make(**members: Any) -> ChatOpenAI:
                usual: dict[str, Any] = {
                    "model": "fake-model",
                    "api_key": shared_gateway.key,
                    "base_url": base_url,
                    "max_retries": 0,
                    "stream_usage": True,
                    "http_client": client,
                    "http_async_client": async_client,
                }
                return ChatOpenAI(**usual | members)

            yield make


@pytest.fixture(params=["sync", "async"])
def is_async(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "async")


async def ask(model: Any, asked: Any, is_async: bool) -> Any:
    return await outcome(model.ainvoke(asked) if is_async else model.invoke(asked))


async def stream(model: Any, asked: Any, is_async: bool) -> list[Any]:
    return [chunk async for chunk in each(open_stream(model, asked, is_async))]


def open_stream(model: Any, asked: Any, is_async: bool) -> Any:
    return model.astream(asked) if is_async else model.stream(asked)


@pytest.mark.parametrize("model", ["fake-model", "tollhouse/simulated"])
async def test_a_stream_says_and_counts_what_a_buffered_answer_does(
    chat: Chat, is_async: bool, model: str
) -> None:
    asked = "script:tokens=7&reasoning=2"

    answer = await ask(chat(model=model), asked, is_async)
    chunks = await stream(chat(model=model), asked, is_async)

    whole = reduce(add, chunks)
    usage = answer.usage_metadata
    assert len(answer.content.split()) == 7
    assert whole.content == answer.content
    assert usage["output_tokens"] == 9
    assert usage["output_token_details"]["reasoning"] == 2
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
    assert whole.usage_metadata == usage
    for name in ("finish_reason", "model_name"):
        assert whole.response_metadata[name] == answer.response_metadata[name]


# How each model is brought to fill in the schema: by itself, or through a tool of that shape.
SCHEMAS = {
    "fake-model as schema": ("fake-model", "json_schema", "Paris"),
    "fake-model as tool": (
        *("fake-model", "function_calling"),
        'script:tools=1&args={"place":"Paris","celsius":7}',
    ),
    "simulated as schema": ("tollhouse/simulated", "json_schema", "Paris"),
    "simulated as tool": ("tollhouse/simulated", "function_calling", "Paris"),
}


# The client complains of its own copy of what openai-python has parsed.
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning")
@pytest.mark.parametrize(("model", "method", "asked"), SCHEMAS.values(), ids=SCHEMAS)
async def test_an_answer_is_an_object_of_the_schema(
    chat: Chat, is_async: bool, model: str, method: Any, asked: str
) -> None:
    structured = chat(model=model).with_structured_output(Forecast, method=method)

    answer = await ask(structured, asked, is_async)
    *_, last = await stream(structured, asked, is_async)

    assert isinstance(answer, Forecast)
    assert last == answer


ERRORS: dict[str, tuple[type[openai.APIStatusError], str, dict[str, Any], str]] = {
    "400": (openai.BadRequestError, "invalid_request", {"temperature": 3}, "Hello"),
    "401": (openai.AuthenticationError, "invalid_api_key", {"api_key": "sk-gw-wrong"}, "Hello"),
    "404": (openai.NotFoundError, "model_not_found", {"model": "no/such"}, "Hello"),
    "429": (openai.RateLimitError, "provider_rate_limit", {}, "script:fail=429"),
    "502": (openai.InternalServerError, "provider_unavailable", {}, "script:fail=500"),
}


@pytest.mark.parametrize("how", [ask, stream], ids=["buffered", "streamed"])
@pytest.mark.parametrize("case", ERRORS)
async def test_a_failure_is_its_own_class(chat: Chat, is_async: bool, case: str, how: Any) -> None:
    raises, code, members, asked = ERRORS[case]

    with pytest.raises(raises) as caught:
        await how(chat(**members), asked, is_async)

    assert (caught.value.status_code, caught.value.code) == (int(case), code)


async def test_a_workspace_without_money_is_told_so(chat: Chat, is_async: bool, keys: Keys) -> None:
    with pytest.raises(openai.APIStatusError) as caught:
        await ask(chat(api_key=keys.poor), "Hello", is_async)

    assert (caught.value.status_code, caught.value.code) == (402, "insufficient_credits")


async def test_a_stream_closed_half_way_ends_everywhere(
    chat: Chat, is_async: bool, shared_gateway: GatewayServer, upstream: UpstreamServer
) -> None:
    before = calls_begun(upstream)
    running = open_stream(chat(), "script:tokens=9999&delay_ms=5", is_async)
    seen = 0
    async for _ in each(running):
        seen += 1
        if seen == 10:
            break
    await outcome(running.aclose() if is_async else running.close())

    record = await assert_call_left(shared_gateway, upstream, before)
    assert 5 <= record["tokens_completion"] < 9999
    assert int(record["cost_nano_usd"]) > 0


async def test_a_buffered_call_whose_task_is_cancelled_ends_everywhere(
    chat: Chat, shared_gateway: GatewayServer, upstream: UpstreamServer
) -> None:
    before = calls_begun(upstream)
    call = asyncio.ensure_future(chat().ainvoke("script:hang"))

    await asyncio.to_thread(wait_for_call, upstream, before)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    record = await assert_call_left(shared_gateway, upstream, before)
    assert_prompt_paid(record)
