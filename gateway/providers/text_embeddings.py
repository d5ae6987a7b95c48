"""What adapters have in common that translate embeddings to another dialect.

They take texts, and answer with numbers. Callers get base64 all the same: the endpoint makes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NoReturn, TypeVar

from gateway.core.embeddings import EmbeddingsCall
from gateway.core.errors import UnsupportedParameter
from gateway.providers.base import UpstreamRequest
from gateway.providers.translation import BYTES_PER_TOKEN, fields_of, left_out
from gateway.snapshot.types import TargetRecord

T = TypeVar("T")
TRANSLATED = frozenset({"model", "input", "dimensions", "encoding_format"})


def check_texts(call: EmbeddingsCall, target: TargetRecord, native: frozenset[str]) -> set[str]:
    """Return the names of fields that would be dropped.

    native: fields of the dialect's own. Raises UnsupportedParameter for token IDs.
    """
    refuse_token_ids(call)
    return left_out(fields_of(call, target), TRANSLATED | native)


def refuse_token_ids(call: EmbeddingsCall) -> None:
    """Raise UnsupportedParameter for inputs that are not texts."""
    if call.payload.token_counts:
        raise UnsupportedParameter(
            f"{call.facts.model} only supports texts, not token IDs.", param="input"
        )


def in_parts(
    inputs: Sequence[T], most: int, write: Callable[[Sequence[T]], UpstreamRequest]
) -> UpstreamRequest:
    """Return the first request for the inputs, with further ones where there are more than one
    request may have.

    write: returns the request for some of the inputs.
    """
    requests: list[UpstreamRequest] = []
    for start in range(0, len(inputs), most):
        part = inputs[start : start + most]
        request = write(part)
        request.answers = len(part)
        request.prompt_tokens = len(request.body) // BYTES_PER_TOKEN + 1
        requests.append(request)
    first, *further = requests
    first.further = tuple(further)
    return first


def refuse_stream(request: UpstreamRequest) -> NoReturn:
    raise UnsupportedParameter("Embeddings cannot be streamed.", param="stream")
