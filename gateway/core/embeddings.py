"""A request for embeddings, and the vectors that answer it, in either of their two forms."""

from __future__ import annotations

import sys
from array import array
from base64 import b64decode, b64encode
from collections.abc import Sequence

import msgspec

from gateway.core.call import Call, Payload
from gateway.core.events import AnswerMeter
from gateway.core.money import Usage, sum_known

FLOAT_BYTES = 4
_read_floats = msgspec.json.Decoder(list[float]).decode


class EmbeddingsRequest(Payload, frozen=True, kw_only=True):
    """What a request for embeddings asks for: one vector for each text or list of tokens."""

    operation = "embeddings"

    # Those of the inputs that are text, and how many tokens each of the others has.
    texts: tuple[str, ...] = ()
    token_counts: tuple[int, ...] = ()
    # The form in which the caller wants the vectors.
    wants_base64: bool = False
    # An upper bound of all inputs together.
    prompt_tokens_bound: int = 0

    @property
    def inputs(self) -> int:
        """Vectors that are asked for."""
        return len(self.texts) + len(self.token_counts)


EmbeddingsCall = Call[EmbeddingsRequest]
# JSON text of an array of numbers, or the base64 of 32-bit floats, little-endian.
Vector = msgspec.Raw | str


class EmbeddingsAnswer(msgspec.Struct, frozen=True):
    """The vectors of a request in the order of its inputs, each as the provider sent it."""

    vectors: list[Vector]
    usage: Usage | None

    def note(self, meter: AnswerMeter) -> None:
        meter.count_other_output(len(self.vectors))

    def forget(self) -> None:
        self.vectors.clear()


def join_embeddings(answers: Sequence[EmbeddingsAnswer]) -> EmbeddingsAnswer:
    """Return the answers to parts of the inputs as one."""
    vectors = [vector for answer in answers for vector in answer.vectors]
    return EmbeddingsAnswer(vectors, sum_known([answer.usage for answer in answers]))


def as_base64(vector: Vector) -> str:
    """Return the vector in base64: numbers as the nearest 32-bit floats."""
    if isinstance(vector, str):
        return vector
    floats = array("f", _read_numbers(bytes(vector)))
    return b64encode(_in_wire_order(floats).tobytes()).decode()


def as_numbers(vector: Vector) -> msgspec.Raw:
    """Return the vector as an array of numbers: those that the 32-bit floats are, exactly."""
    if isinstance(vector, msgspec.Raw):
        return vector
    floats = array("f", b64decode(vector))
    return msgspec.Raw(msgspec.json.encode(_in_wire_order(floats).tolist()))


def _read_numbers(text: bytes) -> list[float]:
    try:
        return _read_floats(text)
    except msgspec.ValidationError:  # a number too large: infinite, as JSON readers take it
        return [float(number) for number in text.strip()[1:-1].split(b",")]


def _in_wire_order(floats: array[float]) -> array[float]:
    if sys.byteorder == "big":
        floats.byteswap()
    return floats
