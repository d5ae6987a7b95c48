"""What explain says is what a call would meet: generated calls are explained, then made, with
limits counted in memory and in Redis.

`make prove-explain` tries 10,000 with each (CASES=10000), `make test` a few.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings

from gateway import pipeline
from gateway.core.admission_steps import ORDER, step_of
from gateway.core.errors import GatewayError
from gateway.core.grant import Grant
from gateway.explain.explainer import Explanation, Requested
from tests.gateway.admission.rule_clock import Clock, TimedMemory, timed_redis, told
from tests.gateway.explain.case import Case, cases, make_body, make_head
from tests.gateway.explain.world import ENDPOINT, World
from tests.support.redis import RedisServer, running_redis

CASES = int(os.environ.get("CASES", "150"))


@pytest.fixture(scope="module")
def redis_server() -> Iterator[RedisServer]:
    with running_redis() as server:
        yield server


@given(cases)
@settings(max_examples=CASES)
def test_explain_agrees_with_the_call(case: Case) -> None:
    asyncio.run(compare(World(case, TimedMemory(Clock()))))


@given(case=cases)
@settings(max_examples=CASES, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_explain_agrees_with_the_call_in_redis(redis_server: RedisServer, case: Case) -> None:
    async def in_redis() -> None:
        redis_server.client.flushdb()
        clock = Clock([redis_server])
        async with timed_redis(redis_server, clock) as counters:
            await compare(World(case, counters), redis_server)

    asyncio.run(in_redis())


async def compare(world: World, redis_server: RedisServer | None = None) -> None:
    case = world.case
    leases = await world.prepare()
    await told(world.counters)
    key = None if "key" in case.planted else world.key
    head, body = make_head(case), make_body(case)
    before, kept = world.taken(), all_kept(redis_server)

    said = await world.explainer.explain(key, head, ENDPOINT, body)

    assert world.taken() == before
    assert all_kept(redis_server) == kept
    calling = asyncio.ensure_future(pipeline.admit(world.stages, ENDPOINT, head, Requested(body)))
    while not calling.done() and not world.limits.queued:  # noqa: ASYNC110
        await asyncio.sleep(0)
    assert calling.done() is ("waits" not in results_of(said))
    for lease in leases:
        lease.end()
    grant, error = None, None
    try:
        admitted = await calling
        assert admitted is not None
        grant = admitted.grant
    except GatewayError as refusal:
        error = refusal
    check(case, said, grant, error)


def all_kept(server: RedisServer | None) -> dict[bytes, object]:
    """Return all that Redis keeps."""
    if server is None:
        return {}
    return {name: server.client.dump(name) for name in server.client.scan_iter()}


def check(case: Case, said: Explanation, grant: Grant | None, error: GatewayError | None) -> None:
    results = results_of(said)
    if error is None:
        assert said.error is None
        assert set(results) <= {"passed", "waits"}
        assert grant is not None
        assert (said.hold_nusd, said.limit_tokens) == (grant.hold_nusd, grant.limit_tokens)
        assert case.planted - {"concurrency"} == set()
        assert limits_of(said) <= {None, "passed", "waits"}
        return
    assert said.error is not None
    assert (said.error.code, said.error.message) == (error.code, error.message)
    assert (said.error.param, said.error.details) == (error.param, error.details)
    assert said.error.numbers == error.numbers
    # The first of those that were planted refuses, or one of the other limits before it; all before
    # it passed, none after it was reached.
    first = ORDER[said.refusing]
    assert first == ORDER[step_of(error)]
    planted = min([ORDER[step] for step in case.planted], default=len(ORDER))
    assert first == planted or (case.rules and said.refusing in ("caps", "limits", "concurrency"))
    assert first <= planted
    assert results == ["passed"] * first + ["refused"] + ["not_reached"] * (len(ORDER) - first - 1)


def results_of(said: Explanation) -> list[str]:
    return [trace.result for trace in said.steps]


def limits_of(said: Explanation) -> set[object]:
    """Return what single limits came to."""
    return {limit.get("result") for trace in said.steps for limit in trace.limits}
