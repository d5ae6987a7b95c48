"""The arguments of a tool call as an object, which many formats want them to be.

Models write arguments that are none, and limits cut them off. They stay what they are, under the
name that Anthropic gives them:
https://platform.claude.com/docs/en/agents-and-tools/tool-use/fine-grained-tool-streaming
"""

from __future__ import annotations

import msgspec

INVALID = "INVALID_JSON"
_read_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_encode = msgspec.json.encode


def read_arguments(text: str) -> dict[str, msgspec.Raw]:
    """Return the arguments that a model wrote."""
    try:
        return _read_object(text) if text.strip() else {}
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {INVALID: msgspec.Raw(_encode(text))}
