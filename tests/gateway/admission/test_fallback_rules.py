"""Calls that fall back come under the rules of the model that serves, in memory and in Redis."""

from __future__ import annotations

from gateway.admission.lease import Lease
from gateway.snapshot.types import LimitRule
from tests.gateway.admission.counting import Serve, call_of, make_key, make_rule, never, receipt
from tests.support.waiting import async_wait_until

MODEL_RULES = (("tokens", 100), ("concurrent_requests", 1))


async def test_a_call_that_falls_back_comes_under_the_rules_of_that_model_instead(
    serve: Serve,
) -> None:
    first, second = (
        tuple(make_rule("model", metric, most, f"{model}-{metric}") for metric, most in MODEL_RULES)
        for model in ("first", "second")
    )
    key = make_key(rules=(make_rule("key", "tokens", 1_000),))

    async with serve() as (one, other):

        async def begin() -> Lease:
            call = call_of(key, tokens=(60, 0), model="first", rules=first)
            instead = call_of(key, tokens=(60, 0), model="second", rules=second)
            lease = await one.acquire(call, never)
            lease.may_fall_back(one.fall_back, call, [instead])
            return lease

        async def fits(model: str, rules: tuple[LimitRule, ...], tokens: int) -> bool:
            call = call_of(key, tokens=(tokens, 0), model=model, rules=rules)
            return (await other.ask(call, wants_slots=True)).refusal() is None

        falling = await begin()
        assert await falling.fall_back("second")

        # All of the first model's rules are free again, and those of the second are taken.
        staying = await begin()
        assert not await fits("first", first, 41)
        assert not await staying.fall_back("second")
        staying.settle(receipt(30, 0))
        staying.end()
        falling.settle(receipt(10, 15))
        falling.end()

        async def corrected() -> bool:
            return await fits("first", first, 70) and await fits("second", second, 75)

        await async_wait_until(corrected)
        assert not await fits("first", first, 71)
        assert not await fits("second", second, 76)
        again = await begin()
        assert await again.fall_back("second")
