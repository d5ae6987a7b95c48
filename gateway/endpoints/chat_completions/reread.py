"""A chat request that processors have changed, read again: all that its fields say."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from gateway.core.chat import ChatCall
from gateway.endpoints.chat_completions import schema
from gateway.endpoints.chat_completions.content_parts import read_blocks
from gateway.endpoints.chat_completions.read import bound_fields, bound_messages

_decode = msgspec.json.Decoder(list[schema.Message]).decode


def reread(call: ChatCall) -> ChatCall:
    """Return the call with its messages and their bounds as its fields are now. Raises RequestError
    with the path of what is no message any more."""
    payload = call.payload
    messages = _decode(payload.fields["messages"])
    blocks = read_blocks(messages)
    # Endpoints of other formats have their own paths.
    params = {(file.row, file.column): file.param for file in payload.files}
    files = [
        replace(file, param=params.get((file.row, file.column), file.param))
        for file in blocks.files
    ]
    bound = bound_messages(messages) + blocks.bound_tokens + bound_fields(payload.fields)
    return call.with_payload(
        messages=messages,
        needs=payload.needs | blocks.needs,
        files=tuple(files),
        pictures=blocks.pictures,
        prompt_tokens_bound=bound,
    )
