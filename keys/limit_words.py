"""Limit rules in words, and the words for their parts: the same on pages, in commands and in the
audit log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from gateway.core.money import format_usd
from keys.models import LimitRule

Metric, Period, Algorithm = LimitRule.Metric, LimitRule.Period, LimitRule.Algorithm

METRICS: Mapping[str, str] = {
    Metric.REQUESTS: "Requests",
    Metric.TOKENS: "Tokens",
    Metric.PROMPT_TOKENS: "Prompt tokens",
    Metric.COMPLETION_TOKENS: "Completion tokens",
    Metric.COST: "Cost (USD)",
    Metric.CONCURRENT_REQUESTS: "Concurrent requests",
}
ALGORITHMS: Mapping[str, str] = {
    Algorithm.ROLLING: "Rolling window",
    Algorithm.FIXED_WINDOW: "Fixed window",
    Algorithm.SLIDING_WINDOW: "Sliding window",
    Algorithm.TOKEN_BUCKET: "Token bucket",
}
LEVELS: Mapping[str, str] = {
    LimitRule.Level.INSTALLATION: "Installation",
    LimitRule.Level.MODEL: "Model",
    LimitRule.Level.WORKSPACE: "Workspace",
    LimitRule.Level.MEMBER: "Member",
    LimitRule.Level.KEY: "Key",
}


class Limit(Protocol):
    """What limit_words reads of a rule."""

    @property
    def metric(self) -> str: ...
    @property
    def maximum(self) -> int: ...
    @property
    def period(self) -> str: ...
    @property
    def per_request(self) -> bool: ...


def limit_words(rule: Limit) -> str:
    """Return the limit without how it is counted: `1,000 requests per minute`."""
    what = amount_words(rule.metric, rule.maximum)
    if rule.per_request:
        return f"{what} per request"
    return f"{what} per {rule.period}" if rule.period else what


def amount_words(metric: str, amount: int) -> str:
    """Return an amount with its unit: `1,000 requests`, `$2.50`. amount: cost in nano-USD."""
    if metric == Metric.COST:
        whole, _, decimals = format_usd(amount).partition(".")
        return f"${int(whole):,}.{decimals}"
    noun = METRICS[metric].lower()
    return f"{amount:,} {noun.removesuffix('s') if amount == 1 else noun}"


def counted_words(rule: LimitRule) -> str:
    """Return how the limit is counted: `Token bucket, burst 120`. Empty where nothing is."""
    words = ALGORITHMS.get(rule.algorithm, "")
    if rule.burst is None:
        return words
    burst = (
        f"{rule.burst:,}" if rule.metric != Metric.COST else amount_words(rule.metric, rule.burst)
    )
    return f"{words}, burst {burst}"


def holder_words(rule: LimitRule) -> str:
    """Return what the limit is for: `Each key`, `ada@example.com`."""
    if rule.level == LimitRule.Level.MODEL:
        return rule.model
    if rule.level == LimitRule.Level.MEMBER:
        return rule.membership.user.email if rule.membership else "Each member"
    if rule.level == LimitRule.Level.KEY:
        return rule.key.label if rule.key else "Each key"
    return LEVELS[rule.level]
