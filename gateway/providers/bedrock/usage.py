"""Converse's counts of tokens, in OpenAI's meaning.

Reference: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_TokenUsage.html
Its inputTokens are what was neither read from the cache nor written to it, as Anthropic counts.
"""

from __future__ import annotations

from collections.abc import Mapping

from gateway.core.money import Usage
from gateway.providers.anthropic.usage import read_usage as read_anthropic_usage
from gateway.providers.bedrock.content import LONG_TTL
from gateway.providers.token_counts import read_count

_NAMES: Mapping[str, str] = {
    "inputTokens": "input_tokens",
    "cacheReadInputTokens": "cache_read_input_tokens",
    "cacheWriteInputTokens": "cache_creation_input_tokens",
    "outputTokens": "output_tokens",
}


def read_usage(report: object) -> Usage | None:
    """Return the counts, or None when input or output is missing or makes no sense."""
    if not isinstance(report, Mapping):
        return None
    counts = {ours: report[name] for name, ours in _NAMES.items() if name in report}
    for_an_hour = {"ephemeral_1h_input_tokens": _read_hour(report.get("cacheDetails"))}
    return read_anthropic_usage(counts | {"cache_creation": for_an_hour})


def _read_hour(details: object) -> int:
    """Return what was written for an hour, 0 where nothing that makes sense says so.

    https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_CacheDetail.html
    """
    if not isinstance(details, list):
        return 0
    return sum(
        read_count(each.get("inputTokens")) or 0
        for each in details
        if isinstance(each, Mapping) and each.get("ttl") == LONG_TTL
    )
