"""Parts of a message as Anthropic's content blocks: text, pictures, documents, arguments."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable

import msgspec

from gateway.core.chat import AnyPart, Audio, Document, Image, Text
from gateway.core.errors import AudioNotSupported, InvalidFile
from gateway.media.media_types import PDF

Block = dict[str, object]
PICTURES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
MAX_NAME_CHARS = 128
_NOT_IN_NAME = re.compile(r"[^a-zA-Z0-9_-]")


def write_blocks(parts: Iterable[AnyPart], cache_control: msgspec.Raw | None) -> list[Block]:
    """Return the blocks of texts, pictures and documents; other parts are left out. The mark of a
    message is that of its last block.

    Raises InvalidFile, AudioNotSupported with the part's path.
    """
    blocks = []
    for part in parts:
        block = _write(part)
        if block is not None:
            blocks.append(mark(block, part.cache_control))
    if blocks:
        mark(blocks[-1], cache_control)
    return blocks


def mark(block: Block, cache_control: msgspec.Raw | None) -> Block:
    """Put a mark for the cache on the block."""
    if cache_control is not None:
        block["cache_control"] = cache_control
    return block


def tidy_name(name: str) -> str:
    """Return a name that the API takes for a tool: models have called what there never was."""
    return _NOT_IN_NAME.sub("_", name)[:MAX_NAME_CHARS] or "_"


def _write(part: AnyPart) -> Block | None:
    match part:
        case Text():
            return {"type": "text", "text": part.text} if part.text.strip() else None
        case Image():
            return _picture(part)
        case Document():
            return _document(part)
        case Audio():
            raise AudioNotSupported("The model does not support audio.", param=part.param)
        case _:
            return None


def _picture(picture: Image) -> Block:
    if picture.url:
        if picture.url[:8].lower() != "https://":
            raise InvalidFile(
                "Image URLs must begin with https:// for this model.", param=picture.param
            )
        return {"type": "image", "source": {"type": "url", "url": picture.url}}
    if picture.media_type not in PICTURES:
        raise InvalidFile("The image is not a PNG, JPEG, WebP or GIF.", param=picture.param)
    source = {"type": "base64", "media_type": picture.media_type, "data": picture.data}
    return {"type": "image", "source": source}


def _document(document: Document) -> Block:
    source: Block
    if document.media_type == PDF:
        source = {"type": "base64", "media_type": PDF, "data": document.data}
    else:
        source = {"type": "text", "media_type": "text/plain", "data": _text_of(document)}
    block: Block = {"type": "document", "source": source}
    if document.name:
        block["title"] = document.name
    return block


def _text_of(document: Document) -> str:
    try:
        return base64.b64decode(document.data, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise InvalidFile(
            "This model only supports PDF and text files.", param=document.param
        ) from None
