"""Embeddings of the built-in provider: the same every time, and alike for texts of alike words.

Each word adds to one number of the vector, which then gets the length 1. So a search with them
finds the texts that share the most words with the question.
"""

from __future__ import annotations

import math
import re
from array import array
from base64 import b64encode
from itertools import islice
from zlib import crc32

import msgspec

DIMENSIONS = 256
MAX_DIMENSIONS = 4_096
# All vectors of a request together.
MAX_NUMBERS = 1_000_000
MAX_WORDS = 1_000
_WORD = re.compile(r"\w+")


class Asked(msgspec.Struct):
    """What is read of a request."""

    input: str | list[str | int | list[int]]
    dimensions: int | None = None
    encoding_format: str | None = None


_read_asked = msgspec.json.Decoder(Asked).decode


def answer_embeddings(request: bytes, prompt_tokens: int) -> tuple[int, bytes]:
    """Return the status and the body of the response."""
    asked = _read_asked(request)
    inputs, dimensions = read_inputs(asked.input), asked.dimensions or DIMENSIONS
    if dimensions > MAX_DIMENSIONS or dimensions * len(inputs) > MAX_NUMBERS:
        message = f"At most {MAX_DIMENSIONS} dimensions, and {MAX_NUMBERS} numbers in all."
        return 400, msgspec.json.encode({"error": {"message": message}})
    is_base64 = asked.encoding_format == "base64"
    data: list[dict[str, object]] = []
    for index, one in enumerate(inputs):
        numbers = array("f", embed(one, dimensions))
        vector = b64encode(numbers.tobytes()).decode() if is_base64 else numbers.tolist()
        data.append({"object": "embedding", "index": index, "embedding": vector})
    usage = {"prompt_tokens": prompt_tokens, "total_tokens": prompt_tokens}
    return 200, msgspec.json.encode({"object": "list", "data": data, "usage": usage})


def read_inputs(given: str | list[str | int | list[int]]) -> list[list[str]]:
    """Return the first words of each input; of tokens, each is one."""
    if isinstance(given, str):
        return [words_of(given)]
    tokens = [str(one) for one in given[:MAX_WORDS] if isinstance(one, int)]
    if tokens:
        return [tokens]
    return [
        words_of(one) if isinstance(one, str) else [str(token) for token in one[:MAX_WORDS]]
        for one in given
        if not isinstance(one, int)
    ]


def words_of(text: str) -> list[str]:
    return [found[0] for found in islice(_WORD.finditer(text.lower()), MAX_WORDS)]


def embed(words: list[str], dimensions: int) -> list[float]:
    """Return a vector of length 1."""
    numbers = [0.0] * dimensions
    for word in words or [""]:
        place = crc32(word.encode())
        numbers[place % dimensions] += 1
    length = math.sqrt(sum(number * number for number in numbers))
    return [number / length for number in numbers]
