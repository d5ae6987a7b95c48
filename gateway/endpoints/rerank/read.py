"""POST /rerank, inbound: bytes to a Call. Every refusal names the member at fault."""

from __future__ import annotations

import msgspec

from gateway.core.call import Call
from gateway.core.errors import RequestError
from gateway.core.json_types import JsonObject
from gateway.core.request import RequestHead
from gateway.core.rerank import RerankCall, RerankRequest
from gateway.core.token_bounds import bound_tokens
from gateway.endpoints.inputs import bound_inputs
from gateway.endpoints.rerank import schema
from gateway.endpoints.rules import USUAL, Rules

_read_raw = msgspec.json.Decoder(list[msgspec.Raw]).decode


def read_call(body: bytes, head: RequestHead, rules: Rules = USUAL) -> RerankCall:
    """Return what the body asks for. Raises InvalidJson or RequestError with `param`."""
    request, fields, unknown, facts = schema.reader.read(body, head, rules)
    documents = tuple(
        text_of(document, f"documents[{index}]") for index, document in enumerate(request.documents)
    )
    query_tokens = bound_tokens(request.query)
    payload = RerankRequest(
        fields=fields,
        unknown=unknown,
        query=request.query,
        documents=documents,
        given=_read_raw(fields["documents"]) if request.return_documents else (),
        top_n=min(request.top_n or len(documents), len(documents)),
        returns_documents=bool(request.return_documents),
        max_tokens_per_doc=request.max_tokens_per_doc,
        # The query is read with each document.
        prompt_tokens_bound=bound_inputs(documents, ()) + query_tokens * len(documents),
    )
    return Call(facts, payload)


def text_of(document: str | JsonObject, param: str) -> str:
    """Return what is ranked of a document: its text, or else the whole of it as JSON."""
    if isinstance(document, str):
        return document
    text = document.get("text")
    if text is None:
        if not document:
            raise RequestError("A document cannot be empty.", param=param)
        return msgspec.json.encode(document).decode()
    if not isinstance(text, str) or not text:
        raise RequestError("The text of a document must be a string.", param=f"{param}.text")
    return text
