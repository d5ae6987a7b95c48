"""openai-python, sync and async, on both mounts: answers and streams."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from tests.clients.conftest import Book
from tests.clients.sdk import ask, each, opened, outcome, stream, text_of, user
from tests.support.servers import GatewayServer

WITH_USAGE = {"stream_options": {"include_usage": True}}
WITHOUT_USAGE = {"stream_options": {"include_usage": False}}
SIMULATED = "tollhouse/simulated"


def nusd(usage: Any) -> int:
    """Return what `usage.cost` says, in nano-USD."""
    return int(Decimal(str(usage.cost)) * 10**9)


def price_of(usage: Any) -> int:
    """Return what the tokens of a call to fake-model cost, in nano-USD."""
    return int(usage.prompt_tokens * 1_000 + usage.completion_tokens * 2_000)


async def test_a_question_is_answered(client: Any, witnessed: Book) -> None:
    answer = await ask(client, "four words of prompt")

    entry = witnessed(answer.id)
    assert answer.object == "chat.completion"
    assert answer.model == "fake-model"
    assert answer.choices[0].message.content.split() == [f"tok{n}" for n in range(10)]
    assert answer.choices[0].finish_reason == "stop"
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (4, 10)
    assert answer.usage.total_tokens == 14
    assert entry["completion_tokens"] == answer.usage.completion_tokens


async def test_the_answer_says_what_it_cost_and_how_long_it_took(client: Any) -> None:
    answer = await ask(client, "script:tokens=5&first_ms=30")

    timings = answer.timings
    assert nusd(answer.usage) == price_of(answer.usage)
    assert answer.credits_used == pytest.approx(answer.usage.cost * 100, abs=1e-4)
    assert timings["total_ms"] >= timings["upstream_ms"] >= 20
    assert timings["upstream_ms"] + timings.get("gateway_ms", 0) == timings["total_ms"]
    assert timings["tokens_per_second"] > 0


async def test_the_built_in_model_answers(client: Any) -> None:
    answer = await ask(client, "Good morning", model=SIMULATED)

    assert "Good morning" in answer.choices[0].message.content
    assert answer.model == SIMULATED
    assert nusd(answer.usage) > 0


@pytest.mark.parametrize("options", [{}, WITHOUT_USAGE], ids=["absent", "off"])
async def test_the_loop_that_guards_nothing_reads_the_built_in_model(
    client: Any, options: dict[str, Any]
) -> None:
    chunks = await stream(client, "script:tokens=20&reasoning=3", model=SIMULATED, **options)

    assert len(text_of(chunks).split()) == 20
    assert {chunk.object for chunk in chunks} == {"chat.completion.chunk"}
    assert len({(chunk.id, chunk.created, chunk.model) for chunk in chunks}) == 1
    assert chunks[0].choices[0].delta.role == "assistant"
    assert [c.choices[0].finish_reason for c in chunks if c.choices[0].finish_reason] == ["stop"]


async def test_usage_comes_last_when_nothing_was_said_about_it(client: Any) -> None:
    chunks = await stream(client, "script:tokens=3")

    *before, last = chunks
    assert before[-1].choices[0].finish_reason == "stop"
    assert last.choices[0].finish_reason is None
    assert (last.usage.completion_tokens, nusd(last.usage)) == (3, price_of(last.usage))
    assert last.credits_used == pytest.approx(last.usage.cost * 100, abs=1e-4)
    assert all(chunk.usage is None for chunk in before)


@pytest.mark.parametrize("model", ["fake-model", SIMULATED])
@pytest.mark.parametrize("options", [{}, WITH_USAGE, WITHOUT_USAGE], ids=["absent", "on", "off"])
async def test_the_stream_helper_puts_the_answer_together(
    client: Any, model: str, options: dict[str, Any]
) -> None:
    helper = client.chat.completions.stream(
        model=model, messages=user("script:tokens=6"), **options
    )

    async with opened(helper) as events:
        seen = [event async for event in each(events)]
        answer = await outcome(events.get_final_completion())

    said = "".join(event.delta for event in seen if event.type == "content.delta")
    assert answer.choices[0].message.content == said
    assert len(said.split()) == 6
    assert answer.choices[0].finish_reason == "stop"
    wanted = None if options == WITHOUT_USAGE else 6
    assert (answer.usage and answer.usage.completion_tokens) == wanted


async def test_reasoning_is_read_under_both_of_its_names(client: Any) -> None:
    answer = await ask(client, "script:reasoning=2&tokens=1")
    chunks = await stream(client, "script:reasoning=2&tokens=1")

    message = answer.choices[0].message
    thought = "".join(getattr(c.choices[0].delta, "reasoning", None) or "" for c in chunks)
    assert message.reasoning == message.reasoning_content == thought == "think0 think1 "
    assert answer.usage.completion_tokens_details.reasoning_tokens == 2


async def test_several_choices_arrive_whole(client: Any) -> None:
    answer = await ask(client, "script:tokens=3", n=2)
    chunks = await stream(client, "script:tokens=3", n=2)

    pieces = [(c.choices[0].index, c.choices[0].delta.content or "") for c in chunks]
    texts = ["".join(text for at, text in pieces if at == index) for index in (0, 1)]
    assert [choice.message.content for choice in answer.choices] == texts
    assert chunks[-1].usage.completion_tokens == answer.usage.completion_tokens == 6


async def test_log_probabilities_come_through(client: Any) -> None:
    members: dict[str, Any] = {"logprobs": True, "top_logprobs": 2}

    answer = await ask(client, "script:tokens=2", **members)
    chunks = await stream(client, "script:tokens=2", **members)

    buffered = [entry.token for entry in answer.choices[0].logprobs.content]
    lists = [c.choices[0].logprobs.content for c in chunks if c.choices[0].logprobs]
    streamed = [entry.token for entries in lists for entry in entries]
    assert buffered == streamed == ["tok0 ", "tok1 "]


@pytest.mark.parametrize("streamed", [False, True], ids=["buffered", "streamed"])
async def test_an_output_limit_is_kept(client: Any, streamed: bool) -> None:
    members: dict[str, Any] = {"max_completion_tokens": 4}

    if streamed:
        finish, last = (await stream(client, "script:tokens=50", **members))[-2:]
    else:
        finish = last = await ask(client, "script:tokens=50", **members)

    assert finish.choices[0].finish_reason == "length"
    assert last.usage.completion_tokens == 4


async def test_the_raw_response_has_the_headers(client: Any) -> None:
    raw = await outcome(
        client.chat.completions.with_raw_response.create(
            model="fake-model",
            messages=user("script:tokens=2"),
            extra_headers={"X-Client-Request-Id": "mine-1"},
        )
    )
    answer = await outcome(raw.parse())

    assert answer.id == f"chatcmpl-{raw.headers['x-request-id']}" == raw.headers["x-generation-id"]
    assert raw.request_id == answer._request_id == raw.headers["x-request-id"]
    assert raw.headers["x-client-request-id"] == "mine-1"
    assert raw.headers["x-model-used"] == "fake-model"
    assert float(raw.headers["x-credits-used"]) == answer.credits_used
    assert "total;dur=" in raw.headers["server-timing"]


async def test_the_head_of_a_stream_has_the_headers(client: Any) -> None:
    streaming = client.chat.completions.with_raw_response

    raw = await outcome(
        streaming.create(model="fake-model", messages=user("script:tokens=2"), stream=True)
    )
    chunks = [chunk async for chunk in each(await outcome(raw.parse()))]

    assert raw.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert raw.headers["cache-control"] == "no-cache, no-transform"
    assert raw.headers["x-request-id"] == chunks[0].id.removeprefix("chatcmpl-")
    assert raw.headers["x-model-used"] == "fake-model"
    assert "content-length" not in raw.headers


async def test_the_models_are_listed(client: Any) -> None:
    models = {model.id: model async for model in each(await outcome(client.models.list()))}

    assert {"fake-model", SIMULATED} <= models.keys()
    assert models["fake-model"].object == "model"
    assert models["fake-model"].owned_by
    assert models["fake-model"].context_length == 128_000
    assert models["fake-model"].pricing["completion"] == 2


@pytest.mark.parametrize("name", ["fake-model", SIMULATED])
async def test_a_model_is_looked_up_by_a_name_that_may_hold_slashes(client: Any, name: str) -> None:
    model = await outcome(client.models.retrieve(name))

    assert model.id == name
    assert model.created > 0


async def test_members_that_the_client_does_not_know_reach_the_provider(client: Any) -> None:
    answer = await ask(client, "script:echo", extra_body={"top_k": 5, "vendor_option": {"a": [1]}})

    received = answer.choices[0].message.content
    assert '\\"top_k\\":5' in received
    assert '\\"vendor_option\\":{\\"a\\":[1]}' in received


async def test_a_key_sees_its_own_models_alone(
    client: Any, shared_gateway: GatewayServer, keys: Any
) -> None:
    narrow = client.with_options(api_key=keys.other_model)

    listed = [model.id async for model in each(await outcome(narrow.models.list()))]

    assert listed == [shared_gateway.model]
