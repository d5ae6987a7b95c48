"""Files that were brought, put into the place of the blocks that named them.

Only the messages that have such blocks are taken apart; every other byte stays the caller's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from gateway.core.chat import ChatCall
from gateway.core.errors import InvalidFile
from gateway.core.files import Attachment, Page, Placed, ReadyFile, StoredContent
from gateway.core.json_types import JsonObject
from gateway.core.token_bounds import TOKENS_PER_FILE, TOKENS_PER_IMAGE, bound_file, bound_tokens
from gateway.endpoints.chat_completions import schema
from gateway.endpoints.chat_completions.content_parts import (
    clean_name,
    needs_of,
    read_inline,
    write_file,
)
from gateway.media.inline_data import write_base64, write_data_url
from gateway.media.media_types import PDF, find_file_type
from gateway.media.sounds import MP3, WAV, WEBM

__all__ = [
    "as_file",
    "as_pages",
    "as_stored",
    "place",
    "read_fetched",
    "read_inline",
    "read_stored",
]

# What an input_audio block calls the formats that it may have.
SOUNDS = {WAV: "wav", MP3: "mp3", WEBM: "webm"}

_to_raw = msgspec.json.Decoder(list[dict[str, msgspec.Raw]])
_to_raw_list = msgspec.json.Decoder(list[msgspec.Raw])
_encode = msgspec.json.encode


def read_fetched(content: bytes, file: Attachment, name: str) -> ReadyFile:
    """Return the file as one that came along would be. name: what its server calls it.

    Raises InvalidFile when its bytes are of no type that is taken, or not of the declared one.
    """
    if not content:
        raise InvalidFile("The file is empty.", param=file.param)
    filename = file.filename or clean_name(name)
    kind = find_file_type(content, file.declared, filename, file.param)
    return ReadyFile(content, kind, filename)


def read_stored(stored: StoredContent, file: Attachment) -> ReadyFile:
    """Return a stored file as one that came along would be. Raises InvalidFile."""
    filename = file.filename or stored.filename
    if stored.kind in SOUNDS:
        return ReadyFile(stored.content, stored.kind, filename)
    kind = find_file_type(stored.content, "", filename, file.param)
    return ReadyFile(stored.content, kind, filename, file.detail)


def as_stored(file: ReadyFile) -> Placed:
    """Return the block that a stored file is: callers may name pictures and sounds like files."""
    if file.kind in SOUNDS:
        sound = {"data": write_base64(file.content), "format": SOUNDS[file.kind]}
        block = {"type": "input_audio", "input_audio": sound}
        return Placed([block], TOKENS_PER_FILE, frozenset({"audio"}))
    if file.kind.startswith("image/"):
        image = {"url": write_data_url(file.kind, file.content)}
        image |= {"detail": file.detail} if file.detail else {}
        picture = {"type": "image_url", "image_url": image}
        return Placed([picture], TOKENS_PER_IMAGE, frozenset({"vision"}))
    return as_file(file)


def as_file(file: ReadyFile) -> Placed:
    """Return the file for a model that takes it as it is."""
    needs = needs_of(file.kind) | ({"pdf"} if file.kind == PDF else set())
    return Placed([write_file(file)], bound_file(file), needs)


def as_pages(filename: str, pages: Sequence[Page]) -> Placed:
    """Return a PDF for a model that reads none: page by page, its text and its picture."""
    blocks: list[JsonObject] = []
    tokens = 0
    for number, page in enumerate(pages, 1):
        text = f"[{filename or 'file.pdf'} — page {number}/{len(pages)}]\n{page.text}".rstrip()
        blocks.append({"type": "text", "text": text})
        tokens += bound_tokens(text)
        if page.picture:
            image = {"url": f"data:image/jpeg;base64,{page.picture}"}
            blocks.append({"type": "image_url", "image_url": image})
            tokens += TOKENS_PER_IMAGE
    pictures = sum(bool(page.picture) for page in pages)
    needs = frozenset({"vision"} if pictures else ())
    return Placed(blocks, tokens, needs, pictures, is_converted=True)


def place(call: ChatCall, placed: Sequence[tuple[Attachment, Placed]]) -> ChatCall:
    """Return the call with these files in their places; the others stay as they are, and are known
    to be there."""
    by_row: dict[int, dict[int, Placed]] = {}
    for file, there in placed:
        by_row.setdefault(file.row, {})[file.column] = there
    raw = _to_raw.decode(call.payload.fields["messages"])
    messages = list(call.payload.messages)
    for row, places in by_row.items():
        blocks = _to_raw_list.decode(raw[row]["content"])
        raw[row]["content"] = msgspec.Raw(_encode(_spliced(blocks, places)))
        parts = _spliced(messages[row].content, places)
        messages[row] = replace(messages[row], content=[_as_part(part) for part in parts])
    brought = {(file.row, file.column) for file, _ in placed}
    tokens = sum(there.bound_tokens - file.bound_tokens for file, there in placed)
    payload = call.payload
    return call.with_payload(
        fields={**payload.fields, "messages": _encode(raw)},
        messages=messages,
        needs=payload.needs.union(*(there.needs for _, there in placed)),
        prompt_tokens_bound=payload.prompt_tokens_bound + tokens,
        files=tuple(file for file in payload.files if (file.row, file.column) not in brought),
        pdf_pages=sum(there.pages for _, there in placed),
        # The caller's own body has IDs that no provider knows, or PDFs that are not to be sent.
        native=None
        if any(file.file_id or there.is_converted for file, there in placed)
        else payload.native,
    )


def _spliced(blocks: Sequence[object], places: Mapping[int, Placed]) -> list[object]:
    result: list[object] = []
    for column, block in enumerate(blocks):
        result += places[column].blocks if column in places else (block,)
    return result


def _as_part(block: object) -> object:
    """Return a block of ours as what the schema makes of such a block."""
    return msgspec.convert(block, schema.Part) if isinstance(block, dict) else block
