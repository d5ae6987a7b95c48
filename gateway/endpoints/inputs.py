"""Texts and token IDs, as OpenAI takes them in lists: for embeddings and text completions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from gateway.core.errors import RequestError
from gateway.core.json_types import JsonObject
from gateway.core.token_bounds import bound_tokens

MAX_TOKEN_IDS = 300_000
# Beside the token IDs of a request and its lists.
OTHER_ITEMS = 10_000
# What models add to each input: a token before it and one after it.
TOKENS_PER_INPUT = 2
# Short texts are bounded loosely, which adds up where they are many.
MANY_TEXTS = 8
SomeText = Annotated[str, Meta(min_length=1)]
TokenId = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Tokens = Annotated[list[TokenId], Meta(min_length=1)]
# One text, one list of token IDs, or a list of either. One of the lists may have more items than
# there may be inputs: token IDs of one.
Inputs = (
    SomeText
    | Annotated[list[SomeText | TokenId | Tokens], Meta(min_length=1, max_length=MAX_TOKEN_IDS)]
)


def read_inputs(
    given: str | Sequence[str | int | list[int]], name: str, max_inputs: int
) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the texts, and how many tokens each of the other inputs has. One of both is empty.

    name: of the member. Raises RequestError for a list of different things, too many inputs or too
    many token IDs.
    """
    if isinstance(given, str):
        return (given,), ()
    kind = type(given[0])
    for index, one in enumerate(given):
        if type(one) is not kind:
            raise RequestError(
                f"{name} must be a list of strings, of token IDs, or of lists of token IDs.",
                param=f"{name}[{index}]",
            )
    if kind is int:
        return (), (len(given),)
    if len(given) > max_inputs:
        raise RequestError(f"{name} can have at most {max_inputs} items.", param=name)
    if kind is str:
        return tuple(map(str, given)), ()
    token_counts = tuple(len(one) for one in given if isinstance(one, list))
    if sum(token_counts) > MAX_TOKEN_IDS:
        raise RequestError(f"{name} can have at most {MAX_TOKEN_IDS} token IDs.", param=name)
    return (), token_counts


def bound_inputs(texts: Sequence[str], token_counts: Sequence[int]) -> int:
    """Return an upper bound of the tokens of all inputs together."""
    whole = ["\n".join(texts)] if len(texts) > MANY_TEXTS else texts
    inputs = len(texts) + len(token_counts)
    return sum(map(bound_tokens, whole)) + sum(token_counts) + TOKENS_PER_INPUT * inputs


def limit_lists(member: JsonObject, max_inputs: int) -> JsonObject:
    """Return the JSON Schema of inputs with what each kind of list may have at most."""
    text, many = member["anyOf"]
    kinds = many["items"]["anyOf"]
    limits = (max_inputs, MAX_TOKEN_IDS, max_inputs)
    lists = [
        many | {"items": kind, "maxItems": limit} for kind, limit in zip(kinds, limits, strict=True)
    ]
    return {"anyOf": [text, *lists]}
