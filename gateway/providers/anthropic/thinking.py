"""How much a model is to think: reasoning_effort, OpenRouter's `reasoning` and the API's own word.

References: https://platform.claude.com/docs/en/build-with-claude/thinking and
https://openrouter.ai/docs/guides/best-practices/reasoning-tokens
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from gateway.providers.anthropic.generations import Generation
from gateway.providers.reasoning_wish import Wish, read_as, read_wish

# OpenAI's efforts in this API's words, for models that think as they see fit. Where a model does
# not know the effort, the next one down has to do.
EFFORTS: Mapping[str, tuple[str, ...]] = {
    "none": ("low",),
    "minimal": ("low",),
    "low": ("low",),
    "medium": ("medium",),
    "high": ("high",),
    "xhigh": ("xhigh", "high"),
    "max": ("max", "high"),
}
# For models that think by a budget: percent of max_tokens, as OpenRouter has it.
BUDGET_PERCENT: Mapping[str, int] = {
    "minimal": 10,
    "low": 20,
    "medium": 50,
    "high": 80,
    "xhigh": 95,
    "max": 95,
}
MIN_BUDGET_TOKENS = 1024
THINKING = "thinking"


class Situation(msgspec.Struct, frozen=True):
    """What else of the call thinking depends on."""

    max_tokens: int
    is_tool_forced: bool
    is_in_tool_loop: bool
    is_begun: bool
    # The last turn of the assistant begins with its thoughts.
    has_thoughts: bool = False


class Thinking(msgspec.Struct):
    """What the request has for it. is_on: the model may think."""

    is_on: bool
    field: dict[str, object] | None = None
    # Of output_config.
    effort: str | None = None
    dropped: str = ""


class OwnWord(msgspec.Struct):
    """`thinking`, as the API has it."""

    type: str = ""
    budget_tokens: int | None = None


_read_own = msgspec.json.Decoder(OwnWord | None).decode


def decide(given: Mapping[str, bytes], generation: Generation, situation: Situation) -> Thinking:
    """Return how much the model is to think. Raises RequestError for what makes no sense."""
    wish = read_wish(given)
    own = read_as(_read_own, given, THINKING)
    if own is not None:
        return _beside(own, wish, generation)
    effort = wish.effort
    if effort is None or (effort == "none" and not generation.thinks_by_default):
        return Thinking(generation.thinks_by_default)
    if generation.takes_adaptive:
        return _think_adaptively(wish, effort, generation, situation)
    budget = _find_budget(wish, effort, generation, situation)
    if budget is None:
        return Thinking(False, dropped=wish.name)
    return Thinking(True, {"type": "enabled", "budget_tokens": budget} | _display(wish))


def fit_thinking(raw: bytes, max_tokens: int) -> bytes | None:
    """Return the API's own word with a budget below the limit, which may be lower than the
    caller's; None where that leaves too little to think with. Raises RequestError."""
    own = read_as(_read_own, {THINKING: raw}, THINKING)
    if own is None or own.budget_tokens is None or own.budget_tokens < max_tokens:
        return raw
    if max_tokens <= MIN_BUDGET_TOKENS:
        return None
    return msgspec.json.encode({**msgspec.json.decode(raw), "budget_tokens": max_tokens - 1})


def _beside(own: OwnWord, wish: Wish, generation: Generation) -> Thinking:
    """Return what the wish adds to the API's own word, which goes through as it is."""
    is_on = own.type != "disabled"
    if wish.effort is None or wish.effort == "none":
        return Thinking(is_on)
    if not generation.takes_adaptive:
        return Thinking(is_on, dropped=wish.name)
    return Thinking(is_on, effort=_known(wish.effort, generation))


def _think_adaptively(
    wish: Wish, effort: str, generation: Generation, situation: Situation
) -> Thinking:
    if wish.budget_tokens is not None and effort != "none":
        effort = _effort_of(wish.budget_tokens, situation.max_tokens)
    known = _known(effort, generation)
    if effort == "none":
        # It cannot be told not to think at all.
        return Thinking(True, effort=known, dropped=wish.name)
    if situation.is_tool_forced or situation.is_begun:
        return Thinking(generation.thinks_by_default, effort=known)
    return Thinking(
        True, {"type": "adaptive", "display": "summarized"} | _display(wish), effort=known
    )


def _known(effort: str, generation: Generation) -> str:
    return next(word for word in EFFORTS[effort] if word in generation.efforts)


def _effort_of(budget_tokens: int, max_tokens: int) -> str:
    """Return the effort that a budget comes nearest to, of those that every model knows."""
    percent = budget_tokens * 100 // max_tokens
    return min(("low", "medium", "high"), key=lambda word: abs(BUDGET_PERCENT[word] - percent))


def _display(wish: Wish) -> dict[str, object]:
    return {"display": "omitted"} if wish.is_hidden else {}


def _find_budget(
    wish: Wish, effort: str, generation: Generation, situation: Situation
) -> int | None:
    """Return the tokens to think with, None where the model cannot think about this call.

    In the midst of tool use it goes on thinking only where the thoughts before the call have come
    back, signed.
    """
    most = situation.max_tokens - 1
    if not generation.takes_budget or most < MIN_BUDGET_TOKENS:
        return None
    if situation.is_tool_forced or situation.is_begun:
        return None
    if situation.is_in_tool_loop and not situation.has_thoughts:
        return None
    wanted = wish.budget_tokens or situation.max_tokens * BUDGET_PERCENT[effort] // 100
    return min(max(wanted, MIN_BUDGET_TOKENS), most)
