"""Requests that came in as OpenAI's Responses and go to OpenAI as the caller wrote them.

Reference: https://platform.openai.com/docs/api-reference/responses/create
What is ours is changed, and nothing else: the model's name, the limit, whether it is a stream, and
that OpenAI stores nothing: what a workspace stores is for it to say, and stands here. So reasoning
has to come encrypted, and go back so.
"""

from __future__ import annotations

import msgspec

from gateway.core.call import NativeBody
from gateway.core.json_types import JsonObject
from gateway.core.reasoning import SEALED
from gateway.providers.request_body import write_body

ENCRYPTED = "reasoning.encrypted_content"
# A field of chat completions under the name that it has here.
SAME_NAMES = frozenset({"temperature", "top_p", "top_logprobs", "parallel_tool_calls", "user"})
_encode = msgspec.json.encode
_decode = msgspec.json.decode


def has_others_reasoning(body: NativeBody) -> bool:
    """True when the request has reasoning of another provider, which OpenAI cannot read."""
    return SEALED.encode() in bytes(body.fields.get("input", b""))


def write_native(
    body: NativeBody,
    dropped: tuple[str, ...],
    *,
    model: str,
    cap_tokens: int | None,
    stream: bool,
    reasons: bool,
) -> bytes:
    """Return the body as it goes to OpenAI. reasons: the model is known to reason."""
    changed: dict[str, bytes | None] = dict.fromkeys(dropped)
    changed |= {
        "model": _encode(model),
        "store": b"false",
        "previous_response_id": None,
        "stream": b"true" if stream else None,
    }
    if not stream:
        changed["stream_options"] = None
    if cap_tokens is not None:
        changed["max_output_tokens"] = b"%d" % cap_tokens
    fields = body.fields
    if reasons or fields.get("reasoning", b"null") != b"null":
        changed["include"] = _with_encrypted(fields.get("include", b"null"))
    raw = bytes(fields.get("input", b'""'))
    if b'"reasoning"' in raw and isinstance(given := _decode(raw), list):
        readable = [item for item in given if is_readable(item)]
        if len(readable) < len(given):
            changed["input"] = _encode(readable)
    return write_body(fields, changed)


def _with_encrypted(raw: bytes) -> bytes:
    wanted = _decode(raw) or []
    return _encode(wanted if ENCRYPTED in wanted else [*wanted, ENCRYPTED])


def is_readable(item: JsonObject) -> bool:
    """False for reasoning that OpenAI could not read: of others, or what it would have stored."""
    if item.get("type") != "reasoning":
        return True
    sealed = item.get("encrypted_content")
    return isinstance(sealed, str) and not sealed.startswith(SEALED)
