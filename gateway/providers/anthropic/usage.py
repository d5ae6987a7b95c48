"""Anthropic's counts of tokens, in OpenAI's meaning.

Its input_tokens are what was neither read from the cache nor written to it: a prompt is the sum of
the three. Streams report the input first and the output last, as totals so far.
"""

from __future__ import annotations

from collections.abc import Mapping

from gateway.core.money import Usage

# No call has more; at the highest price that can be set the cost still fits into 64 bits.
MAX_TOKENS_COUNTED = 2**31 - 1
CACHE_WRITE = "cache_write"
_INPUTS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


def read_usage(*reports: object) -> Usage | None:
    """Return the counts of all reports, the last one's first, or None when input or output is
    missing or makes no sense."""
    found: dict[str, int] = {}
    for report in reports:
        if not isinstance(report, Mapping):
            continue
        for name in (*_INPUTS, "output_tokens"):
            value = report.get(name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int) or not _is_sane(value):
                return None
            found[name] = value
    if "input_tokens" not in found or "output_tokens" not in found:
        return None
    prompt, completion = sum(found.get(name, 0) for name in _INPUTS), found["output_tokens"]
    if not _is_sane(prompt):
        return None
    written = found.get("cache_creation_input_tokens", 0)
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        cached_tokens=found.get("cache_read_input_tokens", 0),
        reasoning_tokens=min(_read_thinking(reports[-1]), completion),
        others={CACHE_WRITE: written} if written else {},
    )


def _read_thinking(report: object) -> int:
    details = report.get("output_tokens_details") if isinstance(report, Mapping) else None
    count = details.get("thinking_tokens") if isinstance(details, Mapping) else None
    if isinstance(count, bool) or not isinstance(count, int) or not _is_sane(count):
        return 0
    return count


def _is_sane(count: int) -> bool:
    return 0 <= count <= MAX_TOKENS_COUNTED
