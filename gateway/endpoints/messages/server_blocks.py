"""Blocks of tools that Anthropic has run, in a conversation that is continued.

Anthropic's own API gets them as they are. Others get them as text, in their place: there may be no
tool of that name, and much of a result only Anthropic can read.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.json import encode

from gateway.core.json_types import JsonObject, JsonValue
from gateway.core.token_bounds import bound_tokens
from gateway.endpoints.messages import schema

ENCRYPTED = "encrypted_"
# What a document has of its bytes, which no model could read as text.
BASE64, DATA = "base64", "data"
ServerBlock = schema.ServerCall | schema.ServerResult


class Written(Struct):
    """A block as text. lost: it had something that is for Anthropic alone. hidden_tokens: a bound
    of that."""

    text: str
    lost: bool = False
    hidden_tokens: int = 0


def write_server_block(block: ServerBlock, names: dict[str, str]) -> Written:
    """Return a block as text. names: those of the tools, by the IDs of their calls."""
    if isinstance(block, schema.ServerCall):
        names[block.id] = block.name
        return Written(f"\n[{block.name}: {encode(block.input).decode()}]\n")
    name = names.get(block.tool_use_id, "tool")
    whole, shown = encode(block.content), encode(_without_hidden(block.content))
    hidden = 0 if whole == shown else bound_tokens(whole.decode())
    return Written(f"\n[Result of {name}: {shown.decode()}]\n", whole != shown, hidden)


def _without_hidden(value: JsonValue) -> JsonValue:
    if isinstance(value, list):
        return [_without_hidden(part) for part in value]
    if not isinstance(value, dict):
        return value
    kept: JsonObject = {
        name: _without_hidden(part)
        for name, part in value.items()
        if not name.startswith(ENCRYPTED)
    }
    if kept.get("type") == BASE64:
        kept.pop(DATA, None)
    return kept
