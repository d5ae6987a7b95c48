"""OpenAI's Embeddings API as the fake upstream speaks it: what it refuses and how it answers.

A vector has `dimensions` numbers, 8 if nobody says: how many tokens its input has, 1.0 if base64
was asked for, and tenths, which are no 32-bit floats. `script:` in the first input is obeyed.
"""

from __future__ import annotations

import struct
from base64 import b64encode
from typing import Any

import msgspec

from tests.fakes import mistral
from tests.fakes.asked import Chat, Message, Request
from tests.fakes.dialect import encode
from tests.fakes.player import Player
from tests.fakes.refused import Refused

DIMENSIONS = 8
MOST_INPUTS = 2048
MEMBERS = frozenset({"model", "input", "encoding_format", "dimensions", "user"})
# The first part of the address says whose rules hold, as in strictness.py.
MEMBERS_OF = {
    "together": frozenset({"model", "input"}),
}


class Asked(msgspec.Struct):
    """The body, once it was found to be good."""

    model: str
    inputs: list[Any]
    is_base64: bool
    dimensions: int


def has_embeddings(path: str) -> bool:
    return path.endswith("/embeddings") and not path.startswith("/nowhere/")


def read_asked(request: Request) -> Asked:
    """Return what was asked. Raises Refused, as OpenAI refuses."""
    try:
        body: dict[str, Any] = msgspec.json.decode(request.body)
    except msgspec.DecodeError as error:
        raise Refused(f"We could not parse the JSON body of your request: {error}") from None
    provider = request.path.split("/", 2)[1]
    if provider == "mistral":
        mistral.refuse_body(request.path, body)
    elif unknown := body.keys() - MEMBERS_OF.get(provider, MEMBERS):
        raise Refused(f"Unrecognized request argument supplied: {min(unknown)}")
    form = body.get("encoding_format", "float")
    if form not in ("float", "base64"):
        raise Refused(f"Invalid 'encoding_format': {form!r}.")
    dimensions = body.get("dimensions", body.get("output_dimension", DIMENSIONS))
    if not isinstance(dimensions, int) or dimensions < 2:
        raise Refused(f"Invalid 'dimensions': {dimensions!r}.")
    return Asked(body["model"], _read_inputs(body.get("input")), form == "base64", dimensions)


def _read_inputs(given: Any) -> list[Any]:
    if not isinstance(given, str | list):
        raise Refused("'$.input' is invalid. Please check the API reference.")
    is_one = isinstance(given, str) or (bool(given) and isinstance(given[0], int))
    inputs: list[Any] = [given] if isinstance(given, str) or is_one else given
    if not inputs or not all(inputs):
        raise Refused("Invalid 'input': it cannot be empty.")
    if len(inputs) > MOST_INPUTS:
        raise Refused(f"Invalid 'input': array too long. At most {MOST_INPUTS} items.")
    if len({type(one) for one in inputs}) > 1:
        raise Refused("'$.input' is invalid. Please check the API reference.")
    return inputs


def as_chat(asked: Asked) -> Chat:
    """Return a conversation of the same words, whose script is the one of the first input."""
    texts = [one for one in asked.inputs if isinstance(one, str)]
    return Chat(model=asked.model, messages=[Message("user", text) for text in texts[:1]])


def count_tokens(one: str | list[int]) -> int:
    """Return an input's length: one word, one token."""
    return len(one.split()) if isinstance(one, str) else len(one)


class EmbeddingsPlayer(Player):
    """Plays the answer to a request for embeddings."""

    asked: Asked

    async def _answer(self) -> None:
        vectors = [self._vector(one) for one in self.asked.inputs]
        data: list[dict[str, Any]] = [
            {"object": "embedding", "index": index, "embedding": vector}
            for index, vector in enumerate(vectors)
        ]
        how = self._script.vectors
        if how == "fewer":
            data.pop()
        elif how == "more":
            data.append(data[0] | {"index": len(data)})
        elif how == "twice":
            data[-1]["index"] = 0
        elif how == "backwards":
            data.reverse()
        elif how == "unnumbered":
            data = [{"embedding": one["embedding"]} for one in data]
        elif how.startswith("raw:"):
            raw = msgspec.Raw(how.removeprefix("raw:").encode())
            data = [one | {"embedding": raw} for one in data]
        answer: dict[str, Any] = {"object": "list", "data": data, "model": self.asked.model}
        how, _, value = self._script.usage.partition(":")
        if how != "none":
            tokens = self._entry.prompt_tokens
            answer["usage"] = {"prompt_tokens": tokens, "total_tokens": tokens}
        if how in ("raw", "null"):
            answer["usage"] = msgspec.Raw(value.encode() or b"null")
        self._entry.report(answer.get("usage"))
        await self._send_whole(encode(answer))

    def _vector(self, one: str | list[int]) -> object:
        asked = self.asked
        numbers = [float(count_tokens(one)), float(asked.is_base64)]
        numbers += [n / 10 for n in range(asked.dimensions - 2)]
        form = self._script.vectors if self._script.vectors in ("float", "base64") else ""
        if (form or ("base64" if asked.is_base64 else "float")) == "float":
            return numbers
        return b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()
