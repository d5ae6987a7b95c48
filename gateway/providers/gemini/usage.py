"""Gemini's counts of tokens, in OpenAI's meaning.

Its promptTokenCount includes what came from a cache; what tools of its own have read is counted
apart, and so are the thoughts.
Reference: https://ai.google.dev/api/generate-content#UsageMetadata
"""

from __future__ import annotations

from collections.abc import Mapping

from gateway.core.money import Usage
from gateway.providers.token_counts import read_count

_COUNTS = (
    "promptTokenCount",
    "toolUsePromptTokenCount",
    "candidatesTokenCount",
    "thoughtsTokenCount",
)


def read_usage(report: object) -> Usage | None:
    """Return the counts, or None when they are missing or make no sense. What is 0 is left out of
    a report, but for the prompt."""
    if not isinstance(report, Mapping) or report.get("promptTokenCount") is None:
        return None
    found: list[int] = []
    for name in _COUNTS:
        value = report.get(name)
        count = 0 if value is None else read_count(value)
        if count is None:
            return None
        found.append(count)
    prompt, completion = read_count(found[0] + found[1]), read_count(found[2] + found[3])
    if prompt is None or completion is None:
        return None
    cached = read_count(report.get("cachedContentTokenCount")) or 0
    return Usage(prompt, completion, min(cached, prompt), found[3])
