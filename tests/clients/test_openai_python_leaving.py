"""openai-python, sync and async, on both mounts: clients that leave, and what is written down."""

from __future__ import annotations

import asyncio
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI

from tests.clients.conftest import Book
from tests.clients.sdk import ask, each, generation, generation_soon, outcome, stream
from tests.clients.witnesses import assert_prompt_paid, wait_for_hang_up, wait_for_record
from tests.support.servers import GatewayServer, UpstreamServer
from tests.support.waiting import async_wait_until


def newest(upstream: UpstreamServer) -> dict[str, Any]:
    """Return the last call that reached the fake upstream."""
    return upstream.book()[-1]


@pytest.mark.parametrize("model", ["fake-model", "tollhouse/simulated"])
async def test_the_record_says_what_the_answer_said(client: Any, model: str) -> None:
    answer = await ask(client, "script:tokens=7&reasoning=2", model=model)
    record = await generation_soon(client, answer.id)

    usage = answer.usage
    assert answer.id == f"chatcmpl-{record['id']}"
    assert (record["status"], record["charge_basis"]) == ("ok", "usage")
    assert record["model"] == model
    assert record["tokens_prompt"] == usage.prompt_tokens
    assert record["tokens_completion"] == usage.completion_tokens
    assert record["tokens_reasoning"] == usage.completion_tokens_details.reasoning_tokens == 2
    assert record["total_cost"] == usage.cost
    assert int(record["cost_nano_usd"]) == round(usage.cost * 10**9) > 0
    assert record["credits_used"] == answer.credits_used
    assert record["finish_reason"] == "stop"
    assert record["streamed"] is False


@pytest.mark.parametrize("spelling", ["chatcmpl-{}", "gen-{}", "{}"])
async def test_a_record_is_found_by_every_spelling_of_its_id(client: Any, spelling: str) -> None:
    chunks = await stream(client, "script:tokens=7")
    call_id = chunks[0].id.removeprefix("chatcmpl-")

    record = await generation_soon(client, spelling.format(call_id))

    assert record["id"] == call_id
    assert record["streamed"] is True
    assert record["total_cost"] == chunks[-1].usage.cost > 0


async def test_a_call_that_runs_is_in_progress(client: Any) -> None:
    running = await ask(client, "script:tokens=9&stall_after=2", stream=True)
    first = await anext(each(running))

    record = await generation_soon(client, first.id, status="in_progress")
    await outcome(running.close())

    assert record["status"] == "in_progress"
    assert record["model"] == "fake-model"


async def test_a_stranger_cannot_see_the_record(client: Any, keys: Any) -> None:
    answer = await ask(client, "script:tokens=1")
    await generation_soon(client, answer.id)

    with pytest.raises(openai.NotFoundError):
        await generation(client.with_options(api_key=keys.other_model), answer.id)


async def test_a_stream_closed_half_way_ends_the_upstream_call(
    client: Any, shared_gateway: GatewayServer, upstream: UpstreamServer
) -> None:
    running = await ask(client, "script:tokens=9999&delay_ms=5", stream=True)
    said, call_id = 0, ""
    async for chunk in each(running):
        call_id = chunk.id.removeprefix("chatcmpl-")
        said += bool(chunk.choices[0].delta.content)
        if said == 10:
            break
    await outcome(running.close())

    entry = wait_for_hang_up(upstream, call_id)
    record = wait_for_record(shared_gateway, call_id)
    assert 10 <= entry["completion_tokens"] < 9999
    assert (record["status"], record["charge_basis"]) == ("aborted", "estimate")
    assert 10 <= record["tokens_completion"] <= entry["completion_tokens"]
    assert int(record["cost_nano_usd"]) >= 10 * 2_000


@pytest.mark.parametrize("streamed", [False, True], ids=["buffered", "streamed"])
async def test_a_client_whose_patience_ends_ends_the_upstream_call(
    client: Any, shared_gateway: GatewayServer, upstream: UpstreamServer, streamed: bool
) -> None:
    before = len(upstream.book())
    hasty = client.with_options(timeout=1.5)  # long enough to reach the upstream

    with pytest.raises(openai.APITimeoutError):
        await ask(hasty, "script:hang", stream=streamed)

    assert len(upstream.book()) == before + 1
    call_id = newest(upstream)["request_id"]
    wait_for_hang_up(upstream, call_id)
    assert_prompt_paid(wait_for_record(shared_gateway, call_id))


async def test_a_cancelled_task_ends_the_upstream_call(
    shared_gateway: GatewayServer, upstream: UpstreamServer
) -> None:
    before = len(upstream.book())
    async with AsyncOpenAI(api_key=shared_gateway.key, base_url=shared_gateway.base_url) as client:
        call = asyncio.ensure_future(ask(client, "script:hang"))

        async def has_begun() -> bool:
            return len(upstream.book()) > before

        await async_wait_until(has_begun, what="the call to reach the upstream")
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

        wait_for_hang_up(upstream, newest(upstream)["request_id"])


async def test_fifty_calls_at_once_are_answered_each_with_its_own(
    shared_gateway: GatewayServer, witnessed: Book
) -> None:
    async with AsyncOpenAI(api_key=shared_gateway.key, base_url=shared_gateway.base_url) as client:
        answers = await asyncio.gather(
            *(ask(client, f"script:text=number+{n}&first_ms=20") for n in range(50))
        )

    assert [answer.choices[0].message.content for answer in answers] == [
        f"number {n}" for n in range(50)
    ]
    assert len({answer.id for answer in answers}) == 50
    assert witnessed(answers[0].id)["state"] == "done"
