"""What is held for a call of texts covers what it can be charged, at every endpoint and price."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.accounting.tokenizer import count_tokens
from gateway.core.money import Price, Usage, cost_nusd
from gateway.core.profiles import UNIFIED
from gateway.core.request import RequestHead
from gateway.core.units import other_units
from gateway.endpoints.registry import make_endpoints
from gateway.endpoints.rules import Rules
from gateway.snapshot.types import ModelRecord
from tests.fakes.counting import PER_MESSAGE, PRIMED

HEAD = RequestHead(request_id="id", headers=(), peer="", fields={})
ENDPOINTS = {endpoint.name: endpoint for endpoint in make_endpoints(Rules())}
MOST_OUTPUT = 5_000
WORDS = (
    *("red", "bicycle", "42", "naïve", "water", "Straße", "日本語", "über", "{}", "👩‍👩‍👧", "\n\n"),
    *("antidisestablishmentarianism", "0x7f3a", "https://example.com/a?b=c", "x=[1,2,3];"),
)
rates = st.integers(0, 10**8)
prices = st.builds(
    Price,
    *[rates] * 3,
    st.dictionaries(st.sampled_from([unit.name for unit in other_units()]), rates).map(
        lambda d: (*d.items(),)
    ),
)
Body = dict[str, Any]


def text(dice: random.Random, most: int = 300) -> str:
    return " ".join(dice.choices(WORDS, k=dice.randint(1, most)))


def texts(dice: random.Random) -> list[str]:
    return [text(dice) for _ in range(dice.randint(1, 12))]


def share(dice: random.Random, prompt: int, completion: int, **others: int) -> Usage:
    """Return these counts with random shares of the prompt from the cache and written to it."""
    cached = dice.randint(0, prompt)
    others["cache_write"] = dice.randint(0, prompt - cached)
    others["cache_write_1h"] = dice.randint(0, prompt - cached - others["cache_write"])
    return Usage(prompt, completion, cached, dice.randint(0, completion), others)


def as_messages(parts: list[str]) -> int:
    """Return the tokens of messages by the rules that OpenAI documents."""
    return PRIMED + sum(PER_MESSAGE + 1 + count_tokens(part) for part in parts)


def ask_chat(dice: random.Random) -> tuple[Body, Usage]:
    said, limit, n = texts(dice), dice.choice((None, 1, 50, 9_000)), dice.randint(1, 3)
    body: Body = {"messages": [{"role": "user", "content": one} for one in said], "n": n}
    if limit:
        body["max_tokens"] = limit
    most = n * min(limit or MOST_OUTPUT, MOST_OUTPUT)
    return body, share(dice, as_messages(said), dice.randint(0, most))


def ask_messages(dice: random.Random) -> tuple[Body, Usage]:
    said, limit = texts(dice), dice.choice((1, 50, 9_000))
    body: Body = {"messages": [{"role": "user", "content": one} for one in said]}
    body |= {"max_tokens": limit, "system": said[0]}
    most = min(limit, MOST_OUTPUT)
    return body, share(dice, as_messages([said[0], *said]), dice.randint(0, most))


def ask_responses(dice: random.Random) -> tuple[Body, Usage]:
    said, limit = texts(dice), dice.choice((None, 16, 9_000))
    body: Body = {"input": [{"role": "user", "content": one} for one in said]}
    body |= {"instructions": said[0], "store": False}
    if limit:
        body["max_output_tokens"] = limit
    most = min(limit or MOST_OUTPUT, MOST_OUTPUT)
    return body, share(dice, as_messages([said[0], *said]), dice.randint(0, most))


def ask_completions(dice: random.Random) -> tuple[Body, Usage]:
    said, limit, n = texts(dice), dice.choice((None, 1, 50, 9_000)), dice.randint(1, 3)
    best_of = n + dice.randint(0, 2)
    body: Body = {"prompt": said, "n": n, "best_of": best_of}
    if limit:
        body["max_tokens"] = limit
    # Its default is 16 where nobody says, and some servers' is whatever fits.
    most = best_of * len(said) * min(limit or MOST_OUTPUT, MOST_OUTPUT)
    return body, share(dice, sum(map(count_tokens, said)), dice.randint(0, most))


def ask_embeddings(dice: random.Random) -> tuple[Body, Usage]:
    if dice.random() < 0.3:
        ids = [[dice.randrange(1000)] * dice.randint(1, 50) for _ in range(dice.randint(1, 9))]
        return {"input": ids}, Usage(sum(len(one) + 2 for one in ids))
    said = texts(dice)
    return {"input": said}, share(dice, sum(count_tokens(one) + 2 for one in said), 0)


def ask_moderations(dice: random.Random) -> tuple[Body, Usage]:
    said = texts(dice)
    return {"input": said}, share(dice, sum(map(count_tokens, said)), 0)


def ask_rerank(dice: random.Random) -> tuple[Body, Usage]:
    query, documents = (
        text(dice, 20),
        [text(dice, dice.choice((5, 50, 600))) for _ in range(dice.randint(1, 110))],
    )
    # The query is read with each document, and a document counts for each 500 tokens of both.
    each = [count_tokens(query) + count_tokens(one) for one in documents]
    cut = dice.choice((None, 100, 1_000))
    body: Body = {"query": query, "documents": documents}
    if cut:
        body["max_tokens_per_doc"] = cut
    least = (count_tokens(query) + min(count_tokens(one), cut or 4_096) for one in documents)
    parts = sum(max(-(-tokens // 500), 1) for tokens in least)
    return body, Usage(sum(each), others={"search": -(-parts // 100)})


def ask_images(dice: random.Random) -> tuple[Body, Usage]:
    prompt, images = text(dice), dice.randint(1, 10)
    most = dice.randint(0, images * MOST_OUTPUT)
    return {"prompt": prompt, "n": images}, share(dice, count_tokens(prompt), most, image=images)


ASK: dict[str, Callable[[random.Random], tuple[Body, Usage]]] = {
    "chat_completions": ask_chat,
    "anthropic_messages": ask_messages,
    "responses": ask_responses,
    "completions": ask_completions,
    "embeddings": ask_embeddings,
    "moderations": ask_moderations,
    "rerank": ask_rerank,
    "images": ask_images,
}


def model_at(price: Price) -> ModelRecord:
    return ModelRecord(
        name="m",
        display_name="M",
        description="",
        owned_by="us",
        created=0,
        price=price,
        context_tokens=None,
        max_output_tokens=MOST_OUTPUT,
        unknown_fields="forward",
        targets=(),
    )


@pytest.mark.parametrize("name", ASK)
@settings(max_examples=60)
@given(price=prices, seed=st.integers(0, 10**9))
def test_a_hold_covers_whatever_a_provider_that_counts_well_can_charge(
    name: str, price: Price, seed: int
) -> None:
    body, usage = ASK[name](random.Random(seed))
    endpoint = ENDPOINTS[name]
    call = endpoint.read(msgspec.json.encode({"model": "m", **body}), HEAD, UNIFIED)

    bound = endpoint.cost_bound(call, model_at(price))

    assert bound.want_nusd >= cost_nusd(usage, price)
    assert bound.least_nusd <= bound.want_nusd
    assert bound.prompt_tokens >= usage.prompt_tokens


@pytest.mark.parametrize(
    "name", ["chat_completions", "anthropic_messages", "responses", "completions"]
)
@settings(max_examples=60)
@given(price=prices, seed=st.integers(0, 10**9), portion=st.floats(0, 1))
def test_a_limit_that_a_smaller_hold_covers_costs_no_more_than_it(
    name: str, price: Price, seed: int, portion: float
) -> None:
    body, usage = ASK[name](random.Random(seed))
    endpoint = ENDPOINTS[name]
    call = endpoint.read(msgspec.json.encode({"model": "m", **body}), HEAD, UNIFIED)
    bound = endpoint.cost_bound(call, model_at(price))
    hold_nusd = bound.least_nusd + int(portion * (bound.want_nusd - bound.least_nusd))

    cap, _ = bound.cap(bound.affordable_tokens(hold_nusd))

    most = Usage(usage.prompt_tokens, bound.n * max(cap, 0), usage.cached_tokens)
    assert cap >= min(bound.limit_tokens, 1) or not bound.token_pusd
    assert cost_nusd(most, price) <= hold_nusd
