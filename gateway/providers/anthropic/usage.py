"""Anthropic's counts of tokens, in OpenAI's meaning.

Its input_tokens are what was neither read from the cache nor written to it: a prompt is the sum of
the three. Streams report the input first and the output last, as totals so far. What is written
for an hour is a share of what is written.

https://platform.claude.com/docs/en/build-with-claude/prompt-caching
"""

from __future__ import annotations

from collections.abc import Mapping

from gateway.core.money import Usage
from gateway.core.units import CACHE_WRITE, CACHE_WRITE_1H
from gateway.providers.token_counts import MAX_TOKENS_COUNTED

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
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        cached_tokens=found.get("cache_read_input_tokens", 0),
        reasoning_tokens=min(
            _read_detail(reports[-1], "output_tokens_details", "thinking_tokens"), completion
        ),
        others=_read_writes(found.get("cache_creation_input_tokens", 0), reports),
    )


def _read_writes(written: int, reports: tuple[object, ...]) -> dict[str, int]:
    """Return what was written, by how long it is kept. The end of a stream may say only how much
    it is in all."""
    if not written:
        return {}
    told = [
        _read_detail(report, "cache_creation", "ephemeral_1h_input_tokens") for report in reports
    ]
    for_an_hour = min(max(told), written)
    counts = {CACHE_WRITE: written - for_an_hour, CACHE_WRITE_1H: for_an_hour}
    return {name: count for name, count in counts.items() if count}


def _read_detail(report: object, of: str, name: str) -> int:
    """Return a detail of a count; 0 where there is none that makes sense."""
    details = report.get(of) if isinstance(report, Mapping) else None
    count = details.get(name) if isinstance(details, Mapping) else None
    if isinstance(count, bool) or not isinstance(count, int) or not _is_sane(count):
        return 0
    return count


def _is_sane(count: int) -> bool:
    return 0 <= count <= MAX_TOKENS_COUNTED
