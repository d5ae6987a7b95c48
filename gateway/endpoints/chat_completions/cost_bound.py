"""What a chat completion may cost at most, and whether its prompt can fit into a model."""

from __future__ import annotations

from gateway.core.admission_steps import with_context
from gateway.core.attachment_tokens import rules_of
from gateway.core.chat import ChatCall
from gateway.core.cost_bound import CostBound
from gateway.core.errors import PromptTooLong
from gateway.core.money import PUSD_PER_NUSD
from gateway.endpoints.chat_completions.read import least_prompt_tokens
from gateway.snapshot.types import ModelRecord
from gateway.tools.hold_bounds import most_fees_nusd


def bound_cost(call: ChatCall, model: ModelRecord) -> CostBound:
    """Return the most that the call can cost on the model, fees for pages of PDFs included.

    Of models that search, one search is in it. What else they may do for an answer is not: see
    docs/adr/0090.
    """
    payload = call.payload
    prompt_tokens = payload.prompt_tokens_bound
    if payload.pictures:
        prompt_tokens += bound_pictures(call, model)
    if model.context_tokens is not None:
        prompt_tokens = min(prompt_tokens, model.context_tokens)
    prompt_pusd = prompt_tokens * model.max_prompt_pusd + model.search_pusd
    if payload.pdf_pages:
        prompt_pusd += payload.pdf_pages * payload.pdf_page_nusd * PUSD_PER_NUSD
    if payload.tools:
        prompt_pusd += most_fees_nusd(payload.tools) * PUSD_PER_NUSD
    most_tokens = model.max_output_tokens
    return CostBound(
        price=model.max_price,
        prompt_pusd=prompt_pusd,
        token_pusd=payload.n * model.max_completion_pusd,
        limit_tokens=min(payload.max_tokens or most_tokens, most_tokens),
        asked_tokens=payload.max_tokens,
        n=payload.n,
        prompt_tokens=prompt_tokens,
    )


def bound_pictures(call: ChatCall, model: ModelRecord) -> int:
    """Return what the pictures of a call are at most, whichever target of the model it gets."""
    rules = {rules_of(target.native_model).picture for target in model.targets}
    pictures = call.payload.pictures
    return sum(max([rule(picture) for rule in rules], default=0) for picture in pictures)


def check_context(call: ChatCall, model: ModelRecord) -> None:
    """Raise PromptTooLong for a call that cannot fit into the context of its model.

    As with OpenAI the output that a caller asks for has to fit after the prompt. Only what no
    tokenizer could make fit is refused: the rest is the provider's to judge.
    """
    payload, context_tokens = call.payload, model.context_tokens
    if context_tokens is None:
        return
    asked_tokens = min(payload.max_tokens or 0, model.max_output_tokens)
    if payload.prompt_tokens_bound + asked_tokens <= context_tokens:
        return
    prompt_tokens = least_prompt_tokens(call)
    if prompt_tokens + asked_tokens <= context_tokens:
        return
    wanted = f"The messages have at least {prompt_tokens} tokens"
    if asked_tokens:
        wanted += f", and max_tokens requests {asked_tokens} more"
    refusal = PromptTooLong(
        f"The model's context window is {context_tokens} tokens. {wanted}.", param="messages"
    )
    raise with_context(refusal, context_tokens, prompt_tokens + asked_tokens)
