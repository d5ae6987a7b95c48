"""What the generations of Gemini take, by the name of the model at the provider.

The API is one; what a model makes of its parameters depends on its generation.
References: https://ai.google.dev/gemini-api/docs/generate-content/thinking (levels and budgets),
https://ai.google.dev/gemini-api/docs/generate-content/whats-new-gemini-3.6 (sampling, candidates),
https://github.com/google-gemini/cookbook/issues/1290 (penalties),
https://ai.google.dev/gemini-api/docs/thought-signatures (signatures).
"""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

# gemini-2.5-flash-lite, gemini-3.1-pro-preview, gemini-live-2.5-flash, gemini-4-argon
_VERSION = re.compile(r"gemini-(?:[a-z]+-)*(\d+)(?:\.(\d+))?(?![\d.])")
# gemini-flash-latest is whatever is newest.
_NEWEST = re.compile(r"gemini-(?:[a-z]+-)+latest$")
_LATEST = (4, 0)
# A name without a version, such as an endpoint's: the newest one that takes all that has been there
# before.
_UNNAMED = (2, 5)
ALL_LEVELS = frozenset({"minimal", "low", "medium", "high"})


class Generation(msgspec.Struct, frozen=True, kw_only=True):
    """What models of one generation take."""

    # The levels of thinking that it knows; empty where it takes none.
    levels: frozenset[str] = frozenset()
    # Tokens to think with, at least and at most; None where it takes no budget.
    budget: tuple[int, int] | None = None
    # Need not think at all.
    takes_no_thinking: bool = True
    # temperature, topP and topK.
    takes_sampling: bool = True
    takes_penalties: bool = False
    # More than one.
    takes_candidates: bool = True
    # Refuses calls of functions that come back without the signature they came with.
    wants_signatures: bool = False


@lru_cache(maxsize=1024)
def generation_of(native_model: str) -> Generation:
    """Return what the model takes."""
    name = native_model.lower().rpartition("/")[2]
    version = _version_of(name)
    if version >= (3, 0):
        return _third(name, version)
    if version < (2, 5):
        return Generation(takes_penalties=version == (2, 0))
    if "image" in name:
        return Generation()
    if "pro" in name:
        return Generation(budget=(128, 32_768), takes_no_thinking=False)
    return Generation(budget=(512 if "lite" in name else 1, 24_576))


def _version_of(name: str) -> tuple[int, int]:
    if found := _VERSION.search(name):
        return int(found[1]), int(found[2] or 0)
    return _LATEST if _NEWEST.search(name) else _UNNAMED


def _third(name: str, version: tuple[int, int]) -> Generation:
    """Return what models from the third generation on take."""
    is_lite = "lite" in name
    levels = ALL_LEVELS
    if "image" in name:
        levels = frozenset()
    elif version == (3, 0) and "pro" in name:
        levels = frozenset({"low", "high"})
    elif "pro" in name or version >= (4, 0) or (version >= (3, 7) and not is_lite):
        levels = ALL_LEVELS - {"minimal"}
    return Generation(
        levels=levels,
        takes_no_thinking=False,
        takes_sampling=version < ((3, 5) if is_lite else (3, 6)),
        takes_candidates=False,
        wants_signatures="image" not in name,
    )
