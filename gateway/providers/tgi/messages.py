"""Messages as TGI reads them: one has text or calls of tools, and calls beside a text are not seen.

Reference: https://github.com/huggingface/text-generation-inference/blob/main/router/src/lib.rs
(MessageBody)
"""

from __future__ import annotations

import re

import msgspec

# Long messages are a memoryview, which can be searched but not asked what it contains.
_CALLS = re.compile(rb'"tool_calls"')
_NOTHING = msgspec.Raw(b"null")
_read_messages = msgspec.json.Decoder(list[dict[str, msgspec.Raw]]).decode
_encode = msgspec.json.encode


def separate_calls(raw: bytes) -> bytes | None:
    """Return the messages with the calls of each in a message of their own, behind its text; None
    where they are so."""
    if not _CALLS.search(raw):
        return None
    separate = []
    for message in _read_messages(raw):
        calls = message.pop("tool_calls", _NOTHING)
        if bytes(calls) in (b"null", b"[]"):
            separate.append(message)
            continue
        content = message.pop("content", _NOTHING)
        if bytes(content) not in (b"null", b'""', b"[]"):
            separate.append({**message, "content": content})
        separate.append({**message, "tool_calls": calls})
    return _encode(separate)
