"""Members of a call's body that have a meaning of their own, whoever writes them."""

from __future__ import annotations

import re
from collections.abc import Iterable

# They would steer where we connect or with what credential; never a caller's business.
STEERING = frozenset(
    {
        "api_base",
        "base_url",
        "api_key",
        "custom_llm_provider",
        "deployment_id",
        "extra_headers",
        "extra_body",
        "url_idx",
        "organization",
    }
)
# Their look-alikes in any case, for some server on the way may take one for the other: api-base,
# apiBase, API_BASE.
_SEPARATORS = re.compile(r"[-_. ]+")
_FOLDED = frozenset(name.replace("_", "") for name in STEERING)
_LONGEST_CHARS = 256


def steers(name: str) -> bool:
    """True for a name of STEERING however it is spelled. Slow: for names that are not known."""
    return len(name) <= _LONGEST_CHARS and _SEPARATORS.sub("", name).lower() in _FOLDED


def steering_pattern() -> str:
    """Return the same as a regular expression of JSON Schema."""
    spellings = [
        "[-_. ]*".join(f"[{letter.upper()}{letter}]" for letter in folded)
        for folded in sorted(_FOLDED)
    ]
    return f"^[-_. ]*({'|'.join(spellings)})[-_. ]*$"


# What else is the same letter for who reads names in any case.
_SAME_LETTER = {"k": "\u212a", "s": "\u017f"}


def any_case_pattern(names: Iterable[str]) -> str:
    """Return a regular expression of JSON Schema for the names in any case, with or without spaces
    around them."""
    spellings = ["".join(map(_any_case, name)) for name in sorted(names)]
    return f"^\\s*({'|'.join(spellings)})\\s*$"


def _any_case(char: str) -> str:
    if char.isalpha():
        return f"[{char.lower()}{char.upper()}{_SAME_LETTER.get(char.lower(), '')}]"
    return re.escape(char)


# A hold is counted from these, or they say what the call is: they come with each call or not at
# all, and no model has defaults for them.
OF_EACH_CALL = frozenset(
    {
        "model",
        "messages",
        "input",
        "encoding_format",
        "stream",
        "stream_options",
        "n",
        "max_tokens",
        "max_completion_tokens",
        "tools",
        "functions",
        "response_format",
    }
)
# Of `stop`: the most that an installation can allow.
MOST_STOP_SEQUENCES = 64
