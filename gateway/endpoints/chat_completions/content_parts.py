"""Content blocks: every spelling of an image, a sound or a file to one normal form.

What is inline is decoded and looked at: the bytes decide what a file is, and what goes to the
provider says so, whatever it was labelled. Nothing is fetched here; what has
to be, and PDFs, which not every model reads, are told apart as attachments.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from gateway.core.attachment_tokens import Picture
from gateway.core.errors import FileNotFound, RequestError
from gateway.core.file_ids import read_file_id
from gateway.core.files import Attachment, ReadyFile
from gateway.core.json_types import JsonObject
from gateway.core.token_bounds import TOKENS_PER_FILE, bound_file
from gateway.endpoints.chat_completions import schema
from gateway.endpoints.rules import USUAL, Rules
from gateway.media.inline_data import read_inline_data, write_base64, write_data_url
from gateway.media.media_types import PDF, find_file_type, find_picture_type
from gateway.media.picture_size import size_of
from gateway.media.sounds import check_sound

MAX_URL_CHARS = 8_192
MAX_ADDRESSES = 5
MAX_STORED = 20
_read_objects = msgspec.json.Decoder(list[dict[str, msgspec.Raw]]).decode


class Blocks(msgspec.Struct, frozen=True, kw_only=True):
    """What the blocks of a request come to.

    needs: abilities a model must have (vision, audio). respelled: members to be written in the
    normal form, by message and block position; of a file, the whole block. bound_tokens: of all
    files; pictures have bounds by their models. media_urls: addresses of pictures, each behind its
    place in the request.
    """

    needs: frozenset[str]
    respelled: dict[tuple[int, int], JsonObject]
    files: tuple[Attachment, ...] = ()
    bound_tokens: int = 0
    media_urls: tuple[tuple[str, str], ...] = ()
    pictures: tuple[Picture, ...] = ()


# Of a prompt that is nothing but text.
NO_BLOCKS = Blocks(needs=frozenset(), respelled={})


def read_blocks(messages: Sequence[schema.Message], rules: Rules = USUAL) -> Blocks:
    """Check every block. Raises RequestError with the block's path."""
    needs: set[str] = set()
    respelled: dict[tuple[int, int], JsonObject] = {}
    files: list[Attachment] = []
    media_urls: list[tuple[str, str]] = []
    pictures: list[Picture] = []
    bound_tokens = 0
    for row, message in enumerate(messages):
        if not isinstance(message, schema.UserMessage) or isinstance(message.content, str):
            continue
        for column, part in enumerate(message.content):
            path = f"messages[{row}].content[{column}]"
            normal: JsonObject | None = None
            if isinstance(part, schema.ImagePart):
                needs.add("vision")
                media_urls += _address_of(part, path)
                picture, normal = read_picture(part, path)
                pictures.append(picture)
            elif isinstance(part, schema.AudioPart):
                needs.add("audio")
                normal = _read_audio(part.input_audio, rules, f"{path}.input_audio")
            elif isinstance(part, schema.FilePart):
                file = _read_file(part, row, column)
                needs |= file.needs
                bound_tokens += file.bound_tokens
                normal = file.normal
                if file.attachment is not None:
                    files.append(file.attachment)
            if normal is not None:
                respelled[row, column] = normal
    _check_addresses(files)
    return Blocks(
        needs=frozenset(needs),
        respelled=respelled,
        files=tuple(files),
        bound_tokens=bound_tokens,
        media_urls=tuple(media_urls),
        pictures=tuple(pictures),
    )


def respell(messages: bytes, blocks: Blocks) -> bytes:
    """Return the messages, raw JSON, with the respelled blocks in place."""
    decoded = msgspec.json.decode(messages)
    for (row, column), block in blocks.respelled.items():
        content = decoded[row]["content"]
        content[column] = _merge(content[column], block)
    return msgspec.json.encode(decoded)


def clear_contents(messages: bytes, rows: Sequence[int]) -> bytes:
    """Return the messages, raw JSON, with null as the content of these."""
    raws = _read_objects(messages)
    for row in rows:
        raws[row]["content"] = msgspec.Raw(b"null")
    return msgspec.json.encode(raws)


def _merge(block: JsonObject, normal: JsonObject) -> JsonObject:
    """Return the block with these members in place of its own. Of a file nothing else is kept: its
    other spellings would say everything twice."""
    if normal.get("type") == "file":
        return normal
    merged = block | normal
    for name, value in normal.items():
        if isinstance(value, dict) and isinstance(block.get(name), dict):
            merged[name] = block[name] | value
    return merged


def _address_of(part: schema.ImagePart, path: str) -> list[tuple[str, str]]:
    """Return the address behind its place, where the picture did not come along."""
    image = part.image_url
    if isinstance(image, str):
        url, param = image, f"{path}.image_url"
    else:
        url, param = image.url, f"{path}.image_url.url"
    return [] if url[:5].lower() == "data:" else [(param, url)]


def read_picture(part: schema.ImagePart, path: str) -> tuple[Picture, JsonObject | None]:
    """Return what is known of a picture, of one that is elsewhere nothing, and its members in the
    normal form, None where they are in it already. Raises InvalidFile."""
    image = part.image_url
    is_plain = isinstance(image, str)
    is_low = not isinstance(image, str) and image.detail == "low"
    url = image if isinstance(image, str) else image.url
    param = f"{path}.image_url" if is_plain else f"{path}.image_url.url"
    if url[:5].lower() != "data:":
        _check_address(url, param)
        return Picture(is_low=is_low), {"image_url": {"url": url}} if is_plain else None
    data = read_inline_data(url, param)
    kind = find_picture_type(data.content, param)
    picture = Picture(*size_of(data.content), is_low)
    if not (data.is_clean and url.startswith(f"data:{kind};base64,")):
        return picture, {"image_url": {"url": write_data_url(kind, data.content)}}
    return picture, {"image_url": {"url": url}} if is_plain else None


def _check_address(url: str, param: str) -> None:
    if len(url) > MAX_URL_CHARS:
        raise RequestError(f"The URL exceeds {MAX_URL_CHARS} characters.", param=param)
    if not re.match(r"https?://[^/\s]", url, re.I):
        raise RequestError("The URL must begin with https:// or http://.", param=param)


def _read_audio(audio: schema.InputAudio, rules: Rules, path: str) -> JsonObject | None:
    """Return the members of a sound in the normal form, None where they are in it already. Raises
    InvalidFile for one that is of another format, or too long."""
    data = read_inline_data(audio.data, f"{path}.data")
    check_sound(data.content, audio.format, rules.audio_s, f"{path}.data")
    if data.is_clean and audio.data[:5].lower() != "data:":
        return None
    return {"input_audio": {"data": write_base64(data.content)}}


class _File(msgspec.Struct):
    """normal: the block in the normal form, None where it is that already, or not to be had."""

    bound_tokens: int
    normal: JsonObject | None = None
    needs: frozenset[str] = frozenset()
    attachment: Attachment | None = None


def _read_file(part: schema.FilePart, row: int, column: int) -> _File:
    """Return what a file block comes to: by its id, its bytes or its address, in this order."""
    source = part.file or schema.FileSource()
    place = Attachment(
        row=row,
        column=column,
        param=f"messages[{row}].content[{column}]",
        filename=clean_name(source.filename or part.filename or ""),
        declared=(source.mime_type or part.mime_type or "").lower(),
        address="",
        data="",
        bound_tokens=TOKENS_PER_FILE,
        detail=source.detail or "",
    )
    file_id = source.file_id or part.file_id
    if file_id is not None:
        return _name_stored(file_id, place)
    text = source.file_data or source.data or part.data
    if text is not None:
        return _read_here(text, source, place)
    if url := source.file_url or part.file_url:
        member = "file.file_url" if source.file_url else "file_url"
        away = replace(place, param=f"{place.param}.{member}", address=url)
        _check_address(url, away.param)
        return _File(TOKENS_PER_FILE, attachment=away)
    raise RequestError("A file part needs file_data, file_url, data or file_id.", param=place.param)


def _read_here(text: str, source: schema.FileSource, place: Attachment) -> _File:
    """Return the block of a file whose bytes came along. Raises InvalidFile."""
    member = "file.file_data" if source.file_data else "data"
    here = replace(place, param=f"{place.param}.{member}", data=text)
    ready, is_clean = _read_inline(here)
    is_normal = (
        is_clean
        and source.file_data
        and text.startswith(f"data:{ready.kind};base64,")
        and source.filename == here.filename
    )
    return _File(
        bound_file(ready),
        None if is_normal else write_file(ready),
        needs_of(ready.kind),
        here if ready.kind == PDF else None,
    )


def _name_stored(file_id: str, place: Attachment) -> _File:
    """Return the block of a stored file. Raises FileNotFound for an ID that is none of ours."""
    if read_file_id(file_id) is None:
        raise FileNotFound(f"The file {file_id[:64]} does not exist.", param=place.param)
    return _File(TOKENS_PER_FILE, attachment=replace(place, declared="", file_id=file_id))


def _check_addresses(files: Sequence[Attachment]) -> None:
    away = [file for file in files if file.address]
    if len(away) > MAX_ADDRESSES:
        raise RequestError(
            f"A request can have at most {MAX_ADDRESSES} files to fetch.",
            param=away[MAX_ADDRESSES].param,
        )
    stored = [file for file in files if file.file_id]
    if len(stored) > MAX_STORED:
        raise RequestError(
            f"A request can have at most {MAX_STORED} stored files.",
            param=stored[MAX_STORED].param,
        )


def needs_of(kind: str) -> frozenset[str]:
    """Return the abilities that a model must have for a file of this type."""
    return frozenset({"vision"}) if kind.startswith("image/") else frozenset()


def read_inline(file: Attachment) -> ReadyFile:
    """Return the bytes that came along and what they are. Raises InvalidFile."""
    return _read_inline(file)[0]


def _read_inline(file: Attachment) -> tuple[ReadyFile, bool]:
    """Return the file, and whether it came as base64 that every provider takes."""
    data = read_inline_data(file.data, file.param)
    declared = file.declared or data.declared
    kind = find_file_type(data.content, declared, file.filename, file.param)
    return ReadyFile(data.content, kind, file.filename), data.is_clean


def write_file(file: ReadyFile) -> JsonObject:
    """Return the block in the normal form."""
    named = {"filename": file.filename or "file"}
    return {"type": "file", "file": named | {"file_data": write_data_url(file.kind, file.content)}}


def clean_name(name: str) -> str:
    """Return the last part of a path without control characters, at most 255 characters."""
    last = re.split(r"[/\\]", name)[-1]
    return "".join(char for char in last if char.isprintable())[:255]
