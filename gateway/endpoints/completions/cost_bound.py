"""What text completions may cost at most, and whether their prompts fit into a model.

A call that a model for chat gets is the chat that it has become (gateway.call_steps.prompt_prep).
"""

from __future__ import annotations

from gateway.core.admission_steps import with_context
from gateway.core.call import Call
from gateway.core.chat import ChatRequest
from gateway.core.completions import CompletionsRequest
from gateway.core.cost_bound import CostBound
from gateway.core.errors import PromptTooLong
from gateway.core.token_bounds import least_tokens
from gateway.endpoints.chat_completions.cost_bound import bound_cost as bound_chat
from gateway.endpoints.chat_completions.cost_bound import check_context as check_chat
from gateway.snapshot.types import ModelRecord

AnyRequest = Call[CompletionsRequest] | Call[ChatRequest]


def bound_cost(call: Call[CompletionsRequest | ChatRequest], model: ModelRecord) -> CostBound:
    """Return the most that the call can cost on the model: each completion that is generated is
    paid, whether it is returned or not."""
    payload = call.payload
    if isinstance(payload, ChatRequest):
        return bound_chat(Call(call.facts, payload), model)
    prompt_tokens = payload.prompt_tokens_bound
    if model.context_tokens is not None:
        prompt_tokens = min(prompt_tokens, model.context_tokens * payload.prompts)
    most_tokens, asked_tokens = model.max_output_tokens, payload.max_tokens
    return CostBound(
        price=model.max_price,
        prompt_pusd=prompt_tokens * model.max_prompt_pusd,
        token_pusd=payload.generated * model.max_completion_pusd,
        limit_tokens=most_tokens if asked_tokens is None else min(asked_tokens, most_tokens),
        asked_tokens=asked_tokens,
        n=payload.generated,
        prompt_tokens=prompt_tokens,
    )


def check_context(call: Call[CompletionsRequest | ChatRequest], model: ModelRecord) -> None:
    """Raise PromptTooLong for a prompt that cannot fit into the context of the model, with the
    output that is asked for: only for what no tokenizer could make fit."""
    payload, context_tokens = call.payload, model.context_tokens
    if isinstance(payload, ChatRequest):
        check_chat(Call(call.facts, payload), model)
        return
    asked_tokens = min(payload.max_tokens or 0, model.max_output_tokens)
    if context_tokens is None or payload.prompt_tokens_bound + asked_tokens <= context_tokens:
        return
    counts = payload.token_counts or map(least_tokens, payload.texts)
    for index, tokens in enumerate(counts):
        if tokens + asked_tokens > context_tokens:
            wanted = f"Prompt {index} has at least {tokens} tokens"
            if asked_tokens:
                wanted += f", and max_tokens requests {asked_tokens} more"
            refusal = PromptTooLong(
                f"The model's context window is {context_tokens} tokens. {wanted}.",
                param="prompt" if payload.prompts == 1 else f"prompt[{index}]",
            )
            raise with_context(refusal, context_tokens, tokens + asked_tokens)
