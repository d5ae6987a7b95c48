"""POST /embeddings, inbound: bytes to a Call. Every refusal names the member at fault."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gateway.core.call import Call, CallFacts
from gateway.core.embeddings import EmbeddingsCall, EmbeddingsRequest
from gateway.core.errors import RequestError, UnsupportedParameter
from gateway.core.request import RequestHead
from gateway.core.token_bounds import bound_tokens
from gateway.endpoints.embeddings import schema
from gateway.endpoints.reading import (
    USER_WORDS,
    check_unknown,
    explain,
    member_decoder,
    refuse_steering,
    write_alias,
)
from gateway.endpoints.rules import USUAL, Rules
from gateway.http import strict_json
from gateway.http.headers import (
    check_ids,
    read_episode,
    read_idempotency_key,
    requires_parameters,
)

# Beside the token IDs of `input` and its lists.
OTHER_ITEMS = 10_000
# What models add to each input: a token before it and one after it.
TOKENS_PER_INPUT = 2
# Short texts are bounded loosely, which adds up where they are many.
MANY_TEXTS = 8
NOTHING = (b"null", b"false")
Inputs = tuple[tuple[str, ...], tuple[int, ...]]


def read_call(body: bytes, head: RequestHead, rules: Rules = USUAL) -> EmbeddingsCall:
    """Return what the body asks for. Raises InvalidJson or RequestError with `param`."""
    strict_json.check(body, max_items=schema.MAX_TOKEN_IDS + OTHER_ITEMS)
    try:
        request = schema.decoder.decode(body)
    except msgspec.ValidationError as error:
        raise explain(error, lambda param: USER_WORDS) from None
    check_ids(head)
    fields = {name: bytes(raw) for name, raw in member_decoder.decode(body).items()}
    for name in schema.NOT_HERE.intersection(fields):
        if fields.pop(name) not in NOTHING:
            raise UnsupportedParameter(f"Embeddings do not support {name}.", param=name)
    unknown = tuple(name for name in fields if name not in schema.KNOWN)
    refuse_steering(unknown)
    check_unknown(unknown, denies=bool(request.deny_unknown_fields))
    texts, token_counts = read_inputs(request.input)
    if request.user and rules.user_secret:
        fields["user"] = write_alias(request.user, rules)
    facts = CallFacts(
        model=request.model,
        stream=False,
        user=request.user or "",
        episode_id=read_episode(head, request.episode_id),
        idempotency_key=read_idempotency_key(head),
        requires_parameters=requires_parameters(head),
        body=body,
        fallback_names=request.models,
    )
    payload = EmbeddingsRequest(
        fields=fields,
        unknown=unknown,
        texts=texts,
        token_counts=token_counts,
        wants_base64=request.encoding_format == "base64",
        prompt_tokens_bound=_bound(texts, token_counts),
    )
    return Call(facts, payload)


def read_inputs(given: str | Sequence[str | int | list[int]]) -> Inputs:
    """Return the texts, and how many tokens each of the other inputs has. One of both is empty.

    Raises RequestError for a list of different things, too many inputs or too many token IDs.
    """
    if isinstance(given, str):
        return (given,), ()
    kind = type(given[0])
    for index, one in enumerate(given):
        if type(one) is not kind:
            raise RequestError(
                "input must be a list of strings, of token IDs, or of lists of token IDs.",
                param=f"input[{index}]",
            )
    if kind is int:
        return (), (len(given),)
    if len(given) > schema.MAX_INPUTS:
        raise RequestError(f"input can have at most {schema.MAX_INPUTS} items.", param="input")
    if kind is str:
        return tuple(map(str, given)), ()
    token_counts = tuple(len(one) for one in given if isinstance(one, list))
    if sum(token_counts) > schema.MAX_TOKEN_IDS:
        raise RequestError(
            f"input can have at most {schema.MAX_TOKEN_IDS} token IDs.", param="input"
        )
    return (), token_counts


def _bound(texts: Sequence[str], token_counts: Sequence[int]) -> int:
    whole = ["\n".join(texts)] if len(texts) > MANY_TEXTS else texts
    inputs = len(texts) + len(token_counts)
    return sum(map(bound_tokens, whole)) + sum(token_counts) + TOKENS_PER_INPUT * inputs
