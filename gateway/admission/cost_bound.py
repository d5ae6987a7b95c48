"""What a call may come to at most: what a hold has to cover."""

from __future__ import annotations

from collections.abc import Callable

from gateway.core.attachment_tokens import rules_of
from gateway.core.chat import ChatCall
from gateway.core.errors import PromptTooLong
from gateway.core.money import PUSD_PER_NUSD, Price, highest
from gateway.snapshot.types import ModelRecord


def max_price(model: ModelRecord) -> Price:
    """Return the highest of each rate over the model's targets: what a hold must cover."""
    return highest([target.price for target in model.targets] or [model.price])


def limit_of(call: ChatCall, model: ModelRecord) -> int:
    """Return the output tokens that each choice may have."""
    return min(call.payload.max_tokens or model.max_output_tokens, model.max_output_tokens)


def check_context(
    call: ChatCall, limit: int, context_tokens: int, least_tokens: Callable[[ChatCall], int]
) -> None:
    """Raise PromptTooLong for a call that cannot fit into the context of its model.

    As with OpenAI the output that a caller asks for has to fit behind the prompt. Only what no
    tokenizer could make fit is refused: the rest is the provider's to judge.
    """
    asked_tokens = 0 if call.payload.max_tokens is None else limit
    if call.payload.prompt_tokens_bound + asked_tokens <= context_tokens:
        return
    prompt_tokens = least_tokens(call)
    if prompt_tokens + asked_tokens <= context_tokens:
        return
    wanted = f"The messages have at least {prompt_tokens} tokens"
    if asked_tokens:
        wanted += f", and max_tokens requests {asked_tokens} more"
    raise PromptTooLong(
        f"The model's context window is {context_tokens} tokens. {wanted}.", param="messages"
    )


def cap_of(call: ChatCall, limit: int, affordable: int) -> tuple[int, int | None]:
    """Return the output tokens of each choice that are paid for, and the limit to send upstream:
    None where the caller's own words may stay as they are."""
    cap = min(limit, affordable)
    return cap, cap if cap < (call.payload.max_tokens or limit) else None


def rates(call: ChatCall, model: ModelRecord, price: Price) -> tuple[int, int]:
    """Return what the prompt costs at most, with the fee for pages of PDFs, and one output token
    of all choices, in pico-USD."""
    prompt_tokens = call.payload.prompt_tokens_bound
    if call.payload.pictures:
        prompt_tokens += bound_pictures(call, model)
    if model.context_tokens is not None:
        prompt_tokens = min(prompt_tokens, model.context_tokens)
    prompt_pusd = prompt_tokens * price.highest_of("prompt")
    if call.payload.pdf_pages:
        prompt_pusd += call.payload.pdf_pages * call.payload.pdf_page_nusd * PUSD_PER_NUSD
    return prompt_pusd, call.payload.n * price.highest_of("completion")


def bound_pictures(call: ChatCall, model: ModelRecord) -> int:
    """Return what the pictures of a call are at most, whichever target of the model it gets."""
    rules = {rules_of(target.native_model).picture for target in model.targets}
    pictures = call.payload.pictures
    return sum(max([rule(picture) for rule in rules], default=0) for picture in pictures)


def affordable_tokens(hold_nusd: int, prompt_pusd: int, token_pusd: int) -> int:
    """Return how many output tokens a hold covers; below 1 it covers no answer."""
    return (hold_nusd * PUSD_PER_NUSD - prompt_pusd) // token_pusd


def to_nusd_up(pusd: int) -> int:
    return -(-pusd // PUSD_PER_NUSD)
