"""Asking for embeddings, and reading them."""

from __future__ import annotations

import json
import struct
from base64 import b64decode
from typing import Any

from tests.flows.caller import Answer, Caller

EMBEDDINGS = "/v1/embeddings"


def embed(caller: Caller, given: Any, *, path: str = EMBEDDINGS, **members: Any) -> Answer:
    """Ask for the embeddings of an input. headers: of the request; the rest goes into the body."""
    headers = members.pop("headers", None)
    body = {"model": caller.model, "input": given} | members
    return caller.ask(path=path, raw=json.dumps(body).encode(), headers=headers)


def vectors(answer: Answer) -> list[list[float]]:
    """Return the numbers of each vector, whichever form it has."""
    assert answer.status == 200, answer.body
    data = answer.json["data"]
    assert [one["index"] for one in data] == list(range(len(data)))
    return [read_vector(one["embedding"]) for one in data]


def read_vector(given: list[float] | str) -> list[float]:
    if isinstance(given, list):
        return given
    content = b64decode(given, validate=True)
    return list(struct.unpack(f"<{len(content) // 4}f", content))


def as_float32(numbers: list[float]) -> list[float]:
    """Return the nearest 32-bit floats."""
    form = f"<{len(numbers)}f"
    return list(struct.unpack(form, struct.pack(form, *numbers)))


def upstream_vector(tokens: int, *, is_base64: bool = False, dimensions: int = 8) -> list[float]:
    """Return the vector of an input at the fake upstream (tests/fakes/embeddings.py)."""
    return [float(tokens), float(is_base64), *(n / 10 for n in range(dimensions - 2))]
