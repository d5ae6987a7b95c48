"""An upper bound on how many tokens a text is, cheap enough for every call.

Common tokenisers need one token for about four characters of English, fewer characters in code
and up to one token for each byte of a rare script. Three ASCII characters a token, and one
token for each byte beyond ASCII, stays above all we know of without being absurd.
"""

from __future__ import annotations

CHARS_PER_TOKEN = 3
TOKENS_PER_MESSAGE = 8
TOKENS_PER_IMAGE = 2_000
TOKENS_PER_FILE = 20_000


def bound_tokens(text: str) -> int:
    """Return a number of tokens that the text is very unlikely to exceed."""
    bound = len(text) // CHARS_PER_TOKEN + 1
    if not text.isascii():
        bound += len(text.encode("utf-8", "surrogatepass")) - len(text)
    return bound


def bound_file(kind: str, content: bytes) -> int:
    """Return the same for a file: a text may be longer than most files come to."""
    if not kind.startswith("text/") and kind != "application/json":
        return TOKENS_PER_FILE
    return max(TOKENS_PER_FILE, bound_tokens(content.decode("utf-8", "replace")))
