"""How much a model is to think: a level for newer generations, a budget of tokens for older ones.

Reference: https://ai.google.dev/gemini-api/docs/generate-content/thinking
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from gateway.providers.gemini.generations import Generation
from gateway.providers.reasoning_wish import Wish

Fields = dict[str, object]
# OpenAI's efforts as levels. Where a model does not know a level, the next one has to do.
LEVELS: Mapping[str, tuple[str, ...]] = {
    "none": ("minimal", "low"),
    "minimal": ("minimal", "low"),
    "low": ("low",),
    "medium": ("medium", "high"),
    "high": ("high",),
    "xhigh": ("high",),
    "max": ("high",),
}
# The same as tokens, as Google's own translation has it; beyond these is the most that a model
# takes. https://ai.google.dev/gemini-api/docs/openai#thinking
BUDGETS: Mapping[str, int] = {"minimal": 1_024, "low": 1_024, "medium": 8_192, "high": 24_576}


class Thinking(msgspec.Struct):
    """What the request has for it. config: empty where it says nothing. is_kept: False where the
    model cannot be told just that."""

    config: Fields
    is_kept: bool = True


def decide(wish: Wish, generation: Generation) -> Thinking:
    """Return how much the model is to think, and that the thoughts are to be told."""
    effort = wish.effort
    if effort is None:
        return Thinking({})
    config = _amount(wish, effort, generation)
    if effort == "none":
        return Thinking(config, is_kept=generation.takes_no_thinking)
    if config and not wish.is_hidden:
        config["includeThoughts"] = True
    return Thinking(config, is_kept=bool(config))


def _amount(wish: Wish, effort: str, generation: Generation) -> Fields:
    """Return how much to think, nothing for a model that cannot be told."""
    if generation.levels:
        if wish.budget_tokens is not None and effort != "none":
            effort = _effort_of(wish.budget_tokens)
        known = [word for word in LEVELS[effort] if word in generation.levels]
        return {"thinkingLevel": known[0].upper()}
    if generation.budget is None:
        return {}
    least, most = generation.budget
    if effort == "none":
        return {"thinkingBudget": 0 if generation.takes_no_thinking else least}
    budget = wish.budget_tokens or BUDGETS.get(effort, most)
    return {"thinkingBudget": min(max(budget, least), most)}


def _effort_of(budget_tokens: int) -> str:
    """Return the highest effort that is no more than this."""
    within = [effort for effort, budget in BUDGETS.items() if budget <= budget_tokens]
    return within[-1] if within else "minimal"
