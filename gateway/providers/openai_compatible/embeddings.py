"""OpenAI's Embeddings API, as OpenAI and its look-alikes speak it.

Reference: https://platform.openai.com/docs/api-reference/embeddings
A provider is asked for the form that the caller wants, so that vectors pass through as they are;
for numbers alone where it may not know base64. Whichever form comes is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import msgspec

from gateway.core.embeddings import EmbeddingsAnswer, EmbeddingsCall
from gateway.core.errors import ProviderUnavailable, UnsupportedParameter
from gateway.core.grant import Grant
from gateway.core.money import Usage
from gateway.providers.base import UpstreamRequest
from gateway.providers.catalogue import BY_NAME
from gateway.providers.invalid import invalid_answer
from gateway.providers.openai_compatible.answers import MALFORMED
from gateway.providers.openai_compatible.request import (
    BYTES_PER_TOKEN,
    change_fields,
    write_headers,
    write_url,
)
from gateway.providers.request_body import write_body
from gateway.providers.secrets import secrets_of
from gateway.providers.text_embeddings import in_parts, refuse_token_ids
from gateway.providers.token_counts import read_count
from gateway.providers.upstream_errors import read_error
from gateway.providers.vectors import read_vector
from gateway.snapshot.types import TargetRecord


class OpenAIEmbeddings:
    """Embeddings for every provider of the `openai` dialect, and for those that have only this of
    it."""

    supported = frozenset({"model", "input", "dimensions", "encoding_format"})

    def check(self, call: EmbeddingsCall, target: TargetRecord) -> set[str]:
        kind, payload = BY_NAME[target.kind], call.payload
        if not kind.takes_token_ids:
            refuse_token_ids(call)
        return {name for name in kind.drops.intersection(payload.fields) if payload.has(name)}

    def build_request(
        self, call: EmbeddingsCall, grant: Grant, target: TargetRecord
    ) -> UpstreamRequest:
        payload, kind = call.payload, BY_NAME[target.kind]
        changed = _change_fields(call, grant, target)
        if kind.most_inputs and payload.inputs > kind.most_inputs:

            def write(inputs: Sequence[msgspec.Raw]) -> UpstreamRequest:
                body = write_body(payload.fields, changed | {"input": msgspec.json.encode(inputs)})
                return UpstreamRequest(
                    url=write_url(target, "embeddings"),
                    headers=write_headers(grant, target),
                    body=body,
                )

            return in_parts(_read_inputs(payload.fields["input"]), kind.most_inputs, write)
        return UpstreamRequest(
            url=write_url(target, "embeddings"),
            headers=write_headers(grant, target),
            body=write_body(payload.fields, changed),
            prompt_tokens=len(payload.fields["input"]) // BYTES_PER_TOKEN + 1,
            answers=payload.inputs,
        )

    def read_answer(self, body: bytes, request: UpstreamRequest) -> EmbeddingsAnswer:
        """Raises ProviderUnavailable unless there is one vector for each input."""
        try:
            answer = _decode(body)
            found = {
                position if one.index is None else one.index: read_vector(one.embedding)
                for position, one in enumerate(answer.data)
            }
            vectors = [found[index] for index in range(request.answers)]
        except MALFORMED:
            raise invalid_answer(body) from None
        if len(answer.data) != len(vectors):
            raise ProviderUnavailable("The provider sent more embeddings than were requested.")
        return EmbeddingsAnswer(vectors, read_usage(answer.usage))

    def open_decoder(self, request: UpstreamRequest) -> NoReturn:
        raise UnsupportedParameter("Embeddings cannot be streamed.", param="stream")

    read_error = staticmethod(read_error)
    secrets = staticmethod(secrets_of)


class EmbeddingItem(msgspec.Struct):
    """What we read of one vector."""

    embedding: msgspec.Raw
    index: int | None = None


class EmbeddingList(msgspec.Struct):
    """What we read of an answer; the rest is skipped undecoded."""

    data: list[EmbeddingItem]
    usage: object = None


_decode = msgspec.json.Decoder(EmbeddingList).decode
_read_inputs = msgspec.json.Decoder(list[msgspec.Raw]).decode


def _change_fields(
    call: EmbeddingsCall, grant: Grant, target: TargetRecord
) -> dict[str, bytes | None]:
    changed = change_fields(call.payload, grant, target)
    if not BY_NAME[target.kind].takes_base64 or not call.payload.has("encoding_format"):
        changed["encoding_format"] = None
    return changed


def read_usage(raw: object) -> Usage | None:
    """Return the count of the prompt, or None when it is missing or makes no sense."""
    if not isinstance(raw, dict):
        return None
    prompt = read_count(raw.get("prompt_tokens", raw.get("total_tokens")))
    return None if prompt is None else Usage(prompt_tokens=prompt)
