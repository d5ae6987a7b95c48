"""Thinking blocks and `reasoning_details`, each from the other.

What Anthropic has signed stands in a block as Anthropic wrote it. Callers give blocks back with the
next request, so what other providers signed or encrypted travels in the block's signature or data,
written by us: its format, its id and itself. No base64 has a colon, so the two cannot be mistaken.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Sequence
from typing import Literal

import msgspec

from gateway.core.json_types import JsonObject
from gateway.core.reasoning import ANTHROPIC
from gateway.endpoints.messages import schema

PREFIX = "tollhouse:"
Kind = Literal["text", "summary", "encrypted"]


class Carried(msgspec.Struct, omit_defaults=True):
    """What a block carries of an entry that is not Anthropic's, beside its text."""

    kind: Kind
    format: str = ""
    id: str = ""
    # The signature, or what is encrypted.
    data: str = ""


class Thoughts(msgspec.Struct):
    """The thinking of one turn. is_foreign: not all of it is Anthropic's."""

    text: str
    details: list[JsonObject]
    is_foreign: bool


_decode = msgspec.json.Decoder(Carried).decode
_encode = msgspec.json.encode


def write_carried(carried: Carried) -> str:
    """Return the signature or the data of a block."""
    return PREFIX + b64encode(_encode(carried)).decode()


def read_carried(text: str) -> Carried | None:
    """Return what we wrote; None for what we did not."""
    if not text.startswith(PREFIX):
        return None
    try:
        return _decode(b64decode(text[len(PREFIX) :], validate=True))
    except (ValueError, msgspec.MsgspecError):
        return None


def read_thinking(
    blocks: Sequence[schema.ThinkingBlock | schema.RedactedThinkingBlock],
) -> Thoughts:
    """Return what a turn's blocks say as a message says it."""
    texts: list[str] = []
    details: list[JsonObject] = []
    is_foreign = False
    for index, block in enumerate(blocks):
        if isinstance(block, schema.ThinkingBlock):
            texts.append(block.thinking)
            sealed = block.signature
        else:
            sealed = block.data
        carried = read_carried(sealed)
        is_foreign = is_foreign or carried is not None or not sealed
        if carried is None and sealed and not sealed.startswith(PREFIX):
            carried = Carried(
                "text" if isinstance(block, schema.ThinkingBlock) else "encrypted",
                ANTHROPIC,
                data=sealed,
            )
        if carried is not None:
            details.append(_write_detail(carried, texts[-1] if texts else "", index))
    return Thoughts("".join(texts), details, is_foreign)


def _write_detail(carried: Carried, text: str, index: int) -> JsonObject:
    detail: JsonObject = {"type": f"reasoning.{carried.kind}"}
    match carried.kind:
        case "text":
            detail["text"] = text
            if carried.data:
                detail["signature"] = carried.data
        case "summary":
            detail["summary"] = text
        case "encrypted":
            detail["data"] = carried.data
    if carried.id:
        detail["id"] = carried.id
    if carried.format:
        detail["format"] = carried.format
    return detail | {"index": index}
