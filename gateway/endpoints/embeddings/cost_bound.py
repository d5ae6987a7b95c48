"""What a request for embeddings may cost at most, and whether its inputs fit into a model."""

from __future__ import annotations

from gateway.core.admission_steps import with_context
from gateway.core.cost_bound import CostBound
from gateway.core.embeddings import EmbeddingsCall
from gateway.core.errors import PromptTooLong
from gateway.core.token_bounds import least_tokens
from gateway.snapshot.types import ModelRecord


def bound_cost(call: EmbeddingsCall, model: ModelRecord) -> CostBound:
    """Return the most that the call can cost on the model: there are no output tokens."""
    payload, price = call.payload, model.max_price
    tokens = payload.prompt_tokens_bound
    if model.context_tokens is not None:
        tokens = min(tokens, model.context_tokens * payload.inputs)
    return CostBound(
        price=price,
        prompt_pusd=tokens * price.highest_of("prompt"),
        token_pusd=0,
        limit_tokens=0,
        prompt_tokens=tokens,
    )


def check_context(call: EmbeddingsCall, model: ModelRecord) -> None:
    """Raise PromptTooLong for an input that cannot fit into the context of the model: only for
    what no tokenizer could make fit, the rest is the provider's to judge."""
    payload, context_tokens = call.payload, model.context_tokens
    if context_tokens is None or payload.prompt_tokens_bound <= context_tokens:
        return
    counts = payload.token_counts or map(least_tokens, payload.texts)
    for index, tokens in enumerate(counts):
        if tokens > context_tokens:
            refusal = PromptTooLong(
                f"The model's context window is {context_tokens} tokens. Input {index} has at "
                f"least {tokens} tokens.",
                param="input" if payload.inputs == 1 else f"input[{index}]",
            )
            raise with_context(refusal, context_tokens, tokens)
