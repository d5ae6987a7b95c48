"""How much a model is to think, as callers say it: reasoning_effort, or OpenRouter's `reasoning`.

Reference: https://openrouter.ai/docs/guides/best-practices/reasoning-tokens
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

import msgspec

from gateway.core.errors import RequestError

T = TypeVar("T")
EFFORT, REASONING = "reasoning_effort", "reasoning"
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
# What `enabled` by itself asks for.
USUAL_EFFORT = "medium"


class ReasoningOptions(msgspec.Struct):
    """`reasoning`, as OpenRouter has it."""

    effort: str | None = None
    max_tokens: int | None = None
    # Think, but do not tell.
    exclude: bool | None = None
    enabled: bool | None = None


class Wish(msgspec.Struct):
    """What the caller wants. name: the field that says so."""

    name: str
    effort: str | None
    budget_tokens: int | None = None
    is_hidden: bool = False


_read_effort = msgspec.json.Decoder(str | None).decode
_read_reasoning = msgspec.json.Decoder(ReasoningOptions | None).decode


def read_wish(given: Mapping[str, bytes]) -> Wish:
    """Return what the caller wants, in whichever words. Raises RequestError."""
    effort = read_as(_read_effort, given, EFFORT)
    options = read_as(_read_reasoning, given, REASONING)
    if options is None:
        return Wish(EFFORT, effort)
    name = EFFORT if effort is not None else REASONING
    effort = effort or options.effort
    if effort is not None and effort not in EFFORTS:
        raise RequestError(
            f"reasoning.effort must be one of {', '.join(EFFORTS)}.", param=f"{REASONING}.effort"
        )
    if options.max_tokens is not None and options.max_tokens < 1:
        raise RequestError("max_tokens must be at least 1.", param=f"{REASONING}.max_tokens")
    if effort is None and options.enabled is not False and (options.enabled or options.max_tokens):
        effort = USUAL_EFFORT
    if options.enabled is False:
        effort = "none"
    return Wish(name, effort, options.max_tokens, bool(options.exclude))


def read_as(decode: Callable[[bytes], T], given: Mapping[str, bytes], name: str) -> T:
    """Return a field's value. Raises RequestError for one that makes no sense."""
    try:
        return decode(given.get(name, b"null"))
    except msgspec.ValidationError as error:
        raise RequestError(
            f"This model does not support this {name}: {error}.", param=name
        ) from None
