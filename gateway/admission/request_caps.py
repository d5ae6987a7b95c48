"""Limits on what one request may use (caps). Nothing is counted for them."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter

from msgspec.structs import replace

from gateway.admission.limit_rules import (
    COST,
    amounts_of,
    holder_of,
    is_for_model,
    rule_details,
    show,
)
from gateway.core.cost_bound import CostBound
from gateway.core.errors import RequestError
from gateway.snapshot.types import LimitRule

is_cap = attrgetter("per_request")


def check_caps(rules: Iterable[LimitRule], model: str, bound: CostBound) -> CostBound:
    """Return the most that caps on one call let the call cost.

    Where the caller sets no limit of its own, the output is limited to them. Raises RequestError
    for what is beyond a cap: what the caller asks for, or the prompt alone.
    """
    tokens = bound.limit_tokens
    for rule in rules:
        if not rule.per_request or not is_for_model(rule, model):
            continue
        allowed = most_tokens(rule, bound)
        if allowed >= tokens:
            continue
        if bound.asked_tokens is not None or allowed < min(bound.limit_tokens, 1):
            wanted = amounts_of(bound, bound.limit_tokens, bound.want_nusd).of(rule.metric)
            raise above_cap(rule, wanted, model)
        tokens = allowed
    if tokens == bound.limit_tokens:
        return bound
    # The provider is to be told: this is less than it would give unasked.
    return replace(bound, limit_tokens=tokens, asked_tokens=bound.limit_tokens)


def most_tokens(rule: LimitRule, bound: CostBound) -> int:
    """Return the output tokens of each answer that a cap allows; below 0 it does not allow the
    prompt."""
    if rule.metric == COST:
        return bound.affordable_tokens(rule.maximum)
    prompt = 0 if rule.metric == "completion_tokens" else bound.prompt_tokens
    if rule.metric == "prompt_tokens":
        return bound.limit_tokens if prompt <= rule.maximum else -1
    return (rule.maximum - prompt) // bound.n


def above_cap(rule: LimitRule, wanted: int, model: str) -> RequestError:
    limit = f"{show(rule.metric, rule.maximum)} per request"
    return RequestError(
        f"{holder_of(rule)} is limited to {limit}, and this call may use up to "
        f"{show(rule.metric, wanted)}.",
        param="messages" if rule.metric == "prompt_tokens" else "max_tokens",
        details=rule_details(rule, 0, wanted, model),
    )
