"""What the generations of Claude take, by the name of the model at the provider.

The Messages API is one; what a model makes of its parameters depends on its generation.
Reference: https://platform.claude.com/docs/en/about-claude/models/migration-guide
"""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

# claude-opus-4-7, claude-haiku-4-5-20251001, claude-3-7-sonnet-latest, us.anthropic.claude-sonnet-4
_VERSION = re.compile(r"claude-(?:[a-z]+-)?(\d+)(?:[-.](\d{1,2}))?(?![\d.])")
# A name without a version: the newest generation that takes all that has been there before.
_UNNAMED = (4, 5)


class Generation(msgspec.Struct, frozen=True, kw_only=True):
    """What models of one generation take."""

    # thinking by a budget of tokens.
    takes_budget: bool
    # thinking as the model sees fit, with output_config.effort.
    takes_adaptive: bool
    # The efforts it knows; empty where it takes none.
    efforts: frozenset[str]
    # Thinks unless told otherwise.
    thinks_by_default: bool
    # temperature, top_p and top_k.
    takes_sampling: bool
    # temperature and top_p in one request.
    takes_both_samplings: bool
    # output_config.format, and strict tools.
    takes_format: bool


@lru_cache(maxsize=1024)
def generation_of(native_model: str) -> Generation:
    """Return what the model takes."""
    found = _VERSION.search(native_model)
    version = (int(found[1]), int(found[2] or 0)) if found else _UNNAMED
    efforts: set[str] = set()
    if version >= (4, 6):
        efforts = {"low", "medium", "high", "max"}
    if version >= (4, 7):
        efforts.add("xhigh")
    return Generation(
        takes_budget=(3, 7) <= version < (4, 6),
        takes_adaptive=version >= (4, 6),
        efforts=frozenset(efforts),
        thinks_by_default=version >= (5, 0),
        takes_sampling=version < (4, 7),
        takes_both_samplings=version < (4, 1),
        takes_format=version >= (4, 5),
    )
