"""POST /embeddings, inbound: bytes to a Call. Every refusal names the member at fault."""

from __future__ import annotations

from gateway.core.call import Call
from gateway.core.embeddings import EmbeddingsCall, EmbeddingsRequest
from gateway.core.request import RequestHead
from gateway.endpoints.embeddings import schema
from gateway.endpoints.inputs import bound_inputs, read_inputs
from gateway.endpoints.rules import USUAL, Rules


def read_call(body: bytes, head: RequestHead, rules: Rules = USUAL) -> EmbeddingsCall:
    """Return what the body asks for. Raises InvalidJson or RequestError with `param`."""
    request, fields, unknown, facts = schema.reader.read(body, head, rules)
    texts, token_counts = read_inputs(request.input, "input", schema.MAX_INPUTS)
    payload = EmbeddingsRequest(
        fields=fields,
        unknown=unknown,
        texts=texts,
        token_counts=token_counts,
        wants_base64=request.encoding_format == "base64",
        prompt_tokens_bound=bound_inputs(texts, token_counts),
    )
    return Call(facts, payload)
