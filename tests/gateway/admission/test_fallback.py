"""Which models are planned for, and what a hold allows each of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hypothesis import given
from hypothesis import strategies as st

from gateway.admission.fallback import (
    Check,
    candidates,
    chained_models,
    fallback_models_within,
)
from gateway.core.chat import ChatCall
from gateway.core.errors import UnsupportedParameter
from gateway.core.money import PUSD_PER_NUSD, Price, Usage, cost_nusd
from gateway.core.name_patterns import compile_names
from gateway.endpoints.chat_completions.cost_bound import bound_cost
from gateway.routing.plan import Plan
from gateway.snapshot.candidate import Candidate
from gateway.snapshot.types import KeyRecord, ModelRecord, ModelRules, Snapshot, TargetRecord
from tests.support.calls import chat_call

NAMES = ("a", "b", "c", "d")
prices = st.builds(Price, *[st.integers(0, 3_000_000)] * 3)


def make_call(max_tokens: int | None = None, n: int = 1, prompt_tokens: int = 10) -> ChatCall:
    return chat_call("a", n=n, max_tokens=max_tokens, prompt_tokens_bound=prompt_tokens)


def find(
    call: ChatCall, asked: ModelRecord, models: Sequence[ModelRecord], check: Check
) -> list[Candidate]:
    return [
        Candidate(call, model, dropped, bound_cost(call, model))
        for model, dropped in candidates(call, asked, models, check)
    ]


def make_model(
    name: str,
    target_prices: Sequence[Price] = (Price(1, 1, 1),),
    *,
    max_output_tokens: int = 100,
    context_tokens: int | None = None,
    fallbacks: tuple[str, ...] = (),
) -> ModelRecord:
    targets = tuple(
        TargetRecord(
            model=name,
            provider=f"provider {position}",
            kind="openai",
            base_url="",
            native_model=f"native {name}",
            price=price,
        )
        for position, price in enumerate(target_prices)
    )
    return ModelRecord(
        name=name,
        display_name="",
        description="",
        owned_by="",
        created=0,
        price=Price(1, 1, 1),
        context_tokens=context_tokens,
        max_output_tokens=max_output_tokens,
        unknown_fields="forward",
        targets=targets,
        fallbacks=fallbacks,
    )


def make_key(allowed: frozenset[str] | None) -> KeyRecord:
    return KeyRecord(
        key_id="key",
        digest="digest",
        workspace_id="workspace",
        scopes=frozenset({"completions"}),
        models=None if allowed is None else ModelRules(allowed=(compile_names(tuple(allowed)),)),
        expires_at=None,
        revoked=False,
        workspace_locked=False,
        stores_bodies=False,
    )


def takes_all(call: ChatCall, model: ModelRecord) -> tuple[str, ...]:
    return ()


models = st.builds(
    make_model,
    st.sampled_from(NAMES),
    st.lists(prices, max_size=3),
    max_output_tokens=st.integers(1, 500),
    context_tokens=st.none() | st.integers(1, 100),
)
calls = st.builds(
    make_call,
    max_tokens=st.none() | st.integers(1, 1_000),
    n=st.integers(1, 4),
    prompt_tokens=st.integers(0, 200),
)


@given(calls, st.lists(models, max_size=6))
def test_each_model_is_planned_for_once_in_order_and_never_the_one_asked_for(
    call: ChatCall, others: list[ModelRecord]
) -> None:
    asked = make_model("a")

    found = find(call, asked, others, takes_all)

    names = [one.model.name for one in found]
    able = [model.name for model in others if model.name != "a" and model.targets]
    assert names == list(dict.fromkeys(able))


@given(calls, st.lists(models, max_size=6), st.integers(0, 2_000_000))
def test_no_answer_of_a_planned_model_can_cost_more_than_the_hold(
    call: ChatCall, others: list[ModelRecord], hold_nusd: int
) -> None:
    found = find(call, make_model("a"), others, takes_all)

    for fallback in fallback_models_within(hold_nusd, found):
        [model] = [one.model for one in found if one.model.name == fallback.model]
        prompt = min(
            call.payload.prompt_tokens_bound,
            model.context_tokens or call.payload.prompt_tokens_bound,
        )
        for target in fallback.targets:
            assert cost_nusd(Usage(prompt, fallback.limit_tokens), target.price) <= hold_nusd
            assert (
                cost_nusd(Usage(prompt, fallback.limit_tokens, prompt), target.price) <= hold_nusd
            )
        per_choice = fallback.limit_tokens // call.payload.n
        assert (
            1 <= per_choice <= min(call.payload.max_tokens or per_choice, model.max_output_tokens)
        )
        assert fallback.cap_tokens in (None, per_choice)
        assert fallback.cap_tokens or call.payload.max_tokens in (None, per_choice)


@given(calls, st.lists(models, max_size=6))
def test_a_hold_of_the_highest_price_allows_every_model_its_whole_limit(
    call: ChatCall, others: list[ModelRecord]
) -> None:
    found = find(call, make_model("a"), others, takes_all)

    fallback_models = fallback_models_within(
        max((one.bound.want_nusd for one in found), default=0), found
    )

    assert [fallback.model for fallback in fallback_models] == [one.model.name for one in found]
    assert [fallback.limit_tokens for fallback in fallback_models] == [
        one.bound.limit_tokens * call.payload.n for one in found
    ]


@given(calls, models, st.integers(0, 2_000_000))
def test_a_model_is_left_out_only_when_the_hold_covers_no_token_of_it(
    call: ChatCall, model: ModelRecord, hold_nusd: int
) -> None:
    found = find(call, make_model("z"), [model], takes_all)

    fallback_models = fallback_models_within(hold_nusd, found)

    if found and not fallback_models:
        one = found[0]
        assert one.bound.prompt_pusd + one.bound.token_pusd > hold_nusd * PUSD_PER_NUSD


def test_a_model_that_cannot_do_what_the_call_needs_is_passed_over() -> None:
    def check(call: ChatCall, model: ModelRecord) -> tuple[str, ...]:
        if model.name == "b":
            raise UnsupportedParameter("b cannot.")
        return (f"not by {model.name}",)

    others = [make_model("b"), make_model("c")]

    [one] = find(make_call(), make_model("a"), others, check)

    assert (one.model.name, one.dropped_params) == ("c", ("not by c",))


def test_of_a_chain_those_are_left_that_are_offered_and_allowed() -> None:
    first = make_model("a", fallbacks=("gone", "b", "c", "a"))
    snapshot = Snapshot(1, {"a": first, "b": make_model("b"), "c": make_model("c")})

    found = chained_models(snapshot, make_key(frozenset({"a", "c"})), first)

    assert [model.name for model in found] == ["c", "a"]


def no_choice(target: TargetRecord, given: object) -> Iterator[TargetRecord]:
    raise AssertionError("there is one credential")


def test_the_plan_has_all_targets_of_one_model_before_those_of_the_next() -> None:
    asked = make_model("a", [Price(1, 1, 1)] * 2)
    others = [make_model("b", [Price(1, 1, 1)] * 2), make_model("c")]
    found = find(make_call(), asked, others, takes_all)

    targets = Plan(no_choice).plan(asked, fallback_models_within(10**9, found), make_call())

    assert [target.model for target in targets] == ["a", "a", "b", "b", "c"]
