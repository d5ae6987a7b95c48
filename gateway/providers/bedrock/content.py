"""Parts of a message as Converse's content blocks: text, pictures, sounds, documents, reasoning.

Reference: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlock.html
A mark for the prompt cache is a block of its own, behind what it marks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import msgspec

from gateway.core import reasoning
from gateway.core.chat import AnyPart, Audio, Document, Image, Reasoning, Text
from gateway.core.errors import InvalidFile
from gateway.media.media_types import PDF
from gateway.providers.turns import Block

PICTURES: Mapping[str, str] = {
    "image/gif": "gif",
    "image/jpeg": "jpeg",
    "image/png": "png",
    "image/webp": "webp",
}
SOUNDS: Mapping[str, str] = {"mp3": "mp3", "pcm16": "pcm", "wav": "wav", "webm": "webm"}
_OFFICE = "application/vnd.openxmlformats-officedocument"
DOCUMENTS: Mapping[str, str] = {
    PDF: "pdf",
    "application/json": "txt",
    "application/msword": "doc",
    "application/vnd.ms-excel": "xls",
    f"{_OFFICE}.spreadsheetml.sheet": "xlsx",
    f"{_OFFICE}.wordprocessingml.document": "docx",
    "text/csv": "csv",
    "text/html": "html",
    "text/markdown": "md",
}
LONG_TTL = "1h"
THOUGHT = "reasoningContent"
MAX_NAME_CHARS = 200
UNNAMED = "document"
# All that a document's name may have, white space no more than one in a row.
_NOT_IN_NAME = re.compile(r"[^a-zA-Z0-9()\[\]-]+")


class CacheControl(msgspec.Struct):
    """A caller's mark for the prompt cache."""

    ttl: str | None = None


_read_mark = msgspec.json.Decoder(CacheControl).decode


class ContentWriter:
    """Writes the blocks of one request, in which no two documents may have one name."""

    def __init__(self) -> None:
        self._names: set[str] = set()

    def write(self, parts: Iterable[AnyPart], cache_control: msgspec.Raw | None) -> list[Block]:
        """Return the blocks; calls of tools and their results are left out. The mark of a message
        is behind its last block. Raises InvalidFile with the part's path."""
        blocks: list[Block] = []
        is_document_alone = False
        for part in parts:
            if (block := self._write(part)) is not None:
                blocks += [block, *mark(part.cache_control)]
                is_document_alone |= isinstance(part, Document)
        if is_document_alone and not any("text" in block for block in blocks):
            # A document must not come without a text.
            blocks.append({"text": "The document is attached."})
        if blocks and "cachePoint" not in blocks[-1]:
            blocks += mark(cache_control)
        return blocks

    def _write(self, part: AnyPart) -> Block | None:
        match part:
            case Text():
                return {"text": part.text} if part.text.strip() else None
            case Image():
                return _write_picture(part)
            case Audio():
                source = {"bytes": part.data}
                return {"audio": {"format": SOUNDS[part.format], "source": source}}
            case Document():
                return self._write_document(part)
            case Reasoning():
                return _write_reasoning(part)
            case _:
                return None

    def _write_document(self, document: Document) -> Block:
        form = DOCUMENTS.get(document.media_type)
        if form is None and document.media_type.startswith("text/"):
            form = "txt"
        if form is None:
            raise InvalidFile(
                "This model does not support files of this type.", param=document.param
            )
        name = self._name(document.name)
        return {"document": {"format": form, "name": name, "source": {"bytes": document.data}}}

    def _name(self, given: str) -> str:
        base = _NOT_IN_NAME.sub(" ", given).strip()[:MAX_NAME_CHARS].strip() or UNNAMED
        name, number = base, 1
        while name in self._names:
            number += 1
            end = f" {number}"
            name = base[: MAX_NAME_CHARS - len(end)].strip() + end
        self._names.add(name)
        return name


def mark(cache_control: Mapping[str, object] | msgspec.Raw | None) -> list[Block]:
    """Return the mark for the cache: no block, or one."""
    if cache_control is None:
        return []
    point: dict[str, object] = {"type": "default"}
    try:
        ttl = (
            _read_mark(cache_control).ttl
            if isinstance(cache_control, msgspec.Raw)
            else cache_control.get("ttl")
        )
    except msgspec.DecodeError:
        ttl = None
    if ttl == LONG_TTL:
        point["ttl"] = LONG_TTL
    return [{"cachePoint": point}]


def is_own(part: Reasoning) -> bool:
    """True for reasoning that came from this API and can go back to it."""
    return part.format == reasoning.BEDROCK and bool(part.signature or part.data)


def _write_picture(picture: Image) -> Block:
    if picture.url:
        raise InvalidFile(
            "This model does not support image URLs. Send the image itself.", param=picture.param
        )
    form = PICTURES.get(picture.media_type)
    if form is None:
        raise InvalidFile("The image is not a PNG, JPEG, WebP or GIF.", param=picture.param)
    return {"image": {"format": form, "source": {"bytes": picture.data}}}


def _write_reasoning(part: Reasoning) -> Block | None:
    if not is_own(part):
        return None
    if part.data:
        return {THOUGHT: {"redactedContent": part.data}}
    said = {"text": part.text, "signature": part.signature}
    return {THOUGHT: {"reasoningText": said}}
