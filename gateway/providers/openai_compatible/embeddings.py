"""OpenAI's Embeddings API, as OpenAI and its look-alikes speak it.

Reference: https://platform.openai.com/docs/api-reference/embeddings
A provider is asked for the form that the caller wants, so that vectors pass through as they are;
for numbers alone where it may not know base64. Whichever form comes is taken.
"""

from __future__ import annotations

from binascii import a2b_base64
from typing import NoReturn

import msgspec

from gateway.core.embeddings import FLOAT_BYTES, EmbeddingsAnswer, EmbeddingsCall, Vector
from gateway.core.errors import ProviderUnavailable, UnsupportedParameter
from gateway.core.grant import Grant
from gateway.core.money import Usage
from gateway.providers.base import UpstreamRequest
from gateway.providers.catalogue import BY_NAME, ProviderKind
from gateway.providers.openai_compatible.chat import MALFORMED, read_count
from gateway.providers.openai_compatible.request import BYTES_PER_TOKEN, write_body, write_headers
from gateway.providers.secrets import secrets_of
from gateway.providers.upstream_errors import read_error
from gateway.snapshot.types import TargetRecord

# Of JSON text, what an array of numbers consists of.
_NUMBERS = b"0123456789+-.eE, \t\r\n"


class OpenAIEmbeddings:
    """Embeddings for every provider of the `openai` dialect."""

    supported = frozenset({"model", "input", "dimensions", "encoding_format"})

    def check(self, call: EmbeddingsCall, target: TargetRecord) -> set[str]:
        drops, payload = BY_NAME[target.kind].drops, call.payload
        return {name for name in drops.intersection(payload.fields) if payload.has(name)}

    def build_request(
        self, call: EmbeddingsCall, grant: Grant, target: TargetRecord
    ) -> UpstreamRequest:
        payload = call.payload
        return UpstreamRequest(
            url=f"{target.base_url}/embeddings",
            headers=write_headers(grant, target),
            body=write_body(payload.fields, _change_fields(call, grant, target)),
            prompt_tokens=len(payload.fields["input"]) // BYTES_PER_TOKEN + 1,
            answers=payload.inputs,
        )

    def read_answer(self, body: bytes, request: UpstreamRequest) -> EmbeddingsAnswer:
        """Raises ProviderUnavailable unless there is one vector for each input."""
        try:
            answer = _decode(body)
            found = {
                position if one.index is None else one.index: _read_vector(one.embedding)
                for position, one in enumerate(answer.data)
            }
            vectors = [found[index] for index in range(request.answers)]
        except MALFORMED:
            raise ProviderUnavailable(
                "The provider sent an invalid response.", quote=repr(body[:2000])
            ) from None
        if len(answer.data) != len(vectors):
            raise ProviderUnavailable("The provider sent more embeddings than were requested.")
        return EmbeddingsAnswer(vectors, read_usage(answer.usage))

    def open_decoder(self) -> NoReturn:
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
_read_text = msgspec.json.Decoder(str).decode


def _change_fields(
    call: EmbeddingsCall, grant: Grant, target: TargetRecord
) -> dict[str, bytes | None]:
    payload, kind = call.payload, BY_NAME[target.kind]
    changed: dict[str, bytes | None] = dict.fromkeys((*kind.drops, *grant.dropped_params))
    changed["model"] = msgspec.json.encode(target.native_model)
    for name, raw in target.default_params:
        if not payload.has(name):
            changed[name] = raw
    if not kind.takes_base64 or not payload.has("encoding_format"):
        changed["encoding_format"] = None
    _rename(call, kind, changed)
    return changed


def _rename(call: EmbeddingsCall, kind: ProviderKind, changed: dict[str, bytes | None]) -> None:
    for name, theirs in kind.renames:
        value = changed.get(name, call.payload.fields.get(name))
        if value not in (None, b"null") and not call.payload.has(theirs):
            changed[theirs] = value
        changed[name] = None


def _read_vector(raw: msgspec.Raw) -> Vector:
    """Return the vector as it came. Raises ValueError or msgspec.DecodeError for what is none."""
    text = bytes(raw)
    if text.startswith(b'"'):
        encoded = _read_text(text)
        size = len(a2b_base64(encoded, strict_mode=True))
        if not size or size % FLOAT_BYTES:
            raise ValueError("These are no 32-bit floats.")
        return encoded
    # It is JSON: of these signs alone it is an array of numbers. Reading them would take as long
    # as all the rest.
    if text.translate(None, _NUMBERS) != b"[]" or not text[1:-1].strip():
        raise ValueError("This is no array of numbers.")
    return msgspec.Raw(text)


def read_usage(raw: object) -> Usage | None:
    """Return the count of the prompt, or None when it is missing or makes no sense."""
    if not isinstance(raw, dict):
        return None
    prompt = read_count(raw.get("prompt_tokens", raw.get("total_tokens")))
    return None if prompt is None else Usage(prompt_tokens=prompt)
