"""Parts of a message to Anthropic's content blocks: text, pictures, documents, arguments."""

from __future__ import annotations

import base64
import binascii
import re

import msgspec

from gateway.core.errors import AudioNotSupported, InvalidFile, RequestError
from gateway.media.media_types import PDF

Block = dict[str, object]
PICTURES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
MAX_NAME_CHARS = 128
_DATA_URL = re.compile(r"data:([^;,]*);base64,", re.I)
_NOT_IN_NAME = re.compile(r"[^a-zA-Z0-9_-]")


class ImageUrl(msgspec.Struct):
    """Where a picture is, or all of it."""

    url: str


class File(msgspec.Struct):
    """A file as it goes to a provider: its bytes are in the request."""

    file_data: str = ""
    filename: str = ""


class Part(msgspec.Struct, kw_only=True):
    """A part of a message in the normal form (gateway.endpoints.chat_completions.content_parts)."""

    type: str
    text: str = ""
    refusal: str = ""
    image_url: ImageUrl | None = None
    file: File | None = None
    cache_control: dict[str, object] | None = None


Content = str | list[Part] | None
_read_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def read_text(content: Content, cache_control: dict[str, object] | None) -> list[Block]:
    """Return the blocks of what is text alone. The mark of a message is that of its last block."""
    if isinstance(content, str):
        blocks = _text_block(content, None)
    else:
        blocks = [
            block
            for part in content or ()
            for block in _text_block(part.text or part.refusal, part.cache_control)
        ]
    return _mark(blocks, cache_control)


def read_user_blocks(
    content: Content, cache_control: dict[str, object] | None, path: str
) -> list[Block]:
    """Return the blocks of a user's message. Raises RequestError, InvalidFile, AudioNotSupported
    with the part's path."""
    if content is None or isinstance(content, str):
        return read_text(content, cache_control)
    blocks: list[Block] = []
    for index, part in enumerate(content):
        where = f"{path}.content[{index}]"
        found: list[Block]
        if part.image_url is not None:
            found = [_picture(part.image_url.url, f"{where}.image_url.url")]
        elif part.file is not None:
            found = [_document(part.file, f"{where}.file.file_data")]
        elif part.type == "input_audio":
            raise AudioNotSupported("The model does not support audio.", param=where)
        else:
            found = _text_block(part.text, None)
        blocks += _mark(found, part.cache_control)
    return _mark(blocks, cache_control)


def input_of(arguments: str, path: str) -> dict[str, msgspec.Raw]:
    """Return the arguments of a call as an object. Raises RequestError for what is none."""
    try:
        return _read_object(arguments or "{}")
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise RequestError(
            "The arguments must be a JSON object for this model.", param=path
        ) from None


def tidy_name(name: str) -> str:
    """Return a name that the API takes for a tool: models have called what there never was."""
    return _NOT_IN_NAME.sub("_", name)[:MAX_NAME_CHARS] or "_"


def _text_block(text: str, cache_control: dict[str, object] | None) -> list[Block]:
    if not text.strip():
        return []
    return _mark([{"type": "text", "text": text}], cache_control)


def _mark(blocks: list[Block], cache_control: dict[str, object] | None) -> list[Block]:
    if cache_control is not None and blocks:
        blocks[-1]["cache_control"] = cache_control
    return blocks


def _picture(url: str, path: str) -> Block:
    found = _DATA_URL.match(url)
    if found is not None:
        return _picture_of(found[1].lower(), url[found.end() :], path)
    if not url[:8].lower() == "https://":
        raise InvalidFile("Image URLs must begin with https:// for this model.", param=path)
    return {"type": "image", "source": {"type": "url", "url": url}}


def _picture_of(kind: str, data: str, path: str) -> Block:
    if kind not in PICTURES:
        raise InvalidFile("The image is not a PNG, JPEG, WebP or GIF.", param=path)
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}


def _document(file: File, path: str) -> Block:
    found = _DATA_URL.match(file.file_data)
    kind = found[1].lower() if found is not None else ""
    data = file.file_data[found.end() :] if found is not None else ""
    if kind in PICTURES:
        return _picture_of(kind, data, path)
    source: Block
    if kind == PDF:
        source = {"type": "base64", "media_type": PDF, "data": data}
    else:
        source = {"type": "text", "media_type": "text/plain", "data": _text_of(data, path)}
    block: Block = {"type": "document", "source": source}
    if file.filename:
        block["title"] = file.filename
    return block


def _text_of(data: str, path: str) -> str:
    try:
        return base64.b64decode(data, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise InvalidFile("This model only supports PDF and text files.", param=path) from None
