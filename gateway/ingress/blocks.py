"""Content blocks: every spelling of an image, a sound or a file to one normal form.

What is inline is decoded and looked at: the bytes decide what a file is, and a declared type
that says otherwise is refused (gateway contract, section 5.5). Nothing is fetched here; what has
to be, and PDFs, which not every model reads, are told apart as attachments.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote_to_bytes

import msgspec

from gateway.core.attachment_tokens import Picture
from gateway.core.errors import FileNotFound, InvalidFile, RequestError
from gateway.core.files import Attachment, ReadyFile
from gateway.core.tokens import TOKENS_PER_FILE, bound_file
from gateway.ingress import schema
from gateway.ingress.picture_size import size_of

# Providers take a fraction of it; whoever decodes more than it is made to spend memory.
MAX_PIXELS = 100_000_000
MAX_URL_CHARS = 8_192
MAX_ADDRESSES = 5
PDF = "application/pdf"
_MAGIC: Sequence[tuple[bytes, str]] = (
    (b"%PDF-", "application/pdf"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_BY_ENDING = {
    "pdf": "application/pdf",
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "json": "application/json",
    "csv": "text/csv",
    "txt": "text/plain",
    "md": "text/markdown",
}


class Blocks(msgspec.Struct, frozen=True):
    """What the blocks of a request come to.

    needs: abilities a model must have (vision, audio). respelled: blocks to be written in the
    normal form, by message and block position. bound_tokens: of all files; pictures have bounds by
    their models. media_urls: addresses of pictures, each behind its place in the request.
    """

    needs: frozenset[str]
    respelled: dict[tuple[int, int], dict[str, Any]]
    files: tuple[Attachment, ...] = ()
    bound_tokens: int = 0
    media_urls: tuple[tuple[str, str], ...] = ()
    pictures: tuple[Picture, ...] = ()


def read_blocks(messages: Sequence[schema.Message]) -> Blocks:
    """Check every block. Raises RequestError with the block's path."""
    needs: set[str] = set()
    respelled: dict[tuple[int, int], dict[str, Any]] = {}
    files: list[Attachment] = []
    media_urls: list[tuple[str, str]] = []
    pictures: list[Picture] = []
    bound_tokens = 0
    for row, message in enumerate(messages):
        if not isinstance(message, schema.UserMessage) or isinstance(message.content, str):
            continue
        for column, part in enumerate(message.content):
            path = f"messages[{row}].content[{column}]"
            if isinstance(part, schema.ImagePart):
                needs.add("vision")
                media_urls += _address_of(part, path)
                pictures.append(picture_of(part, path))
                if isinstance(part.image_url, str):
                    image = {"url": part.image_url}
                    respelled[row, column] = {"type": "image_url", "image_url": image}
            elif isinstance(part, schema.AudioPart):
                needs.add("audio")
                _check_audio(part.input_audio, f"{path}.input_audio")
            elif isinstance(part, schema.FilePart):
                file = _read_file(part, row, column)
                needs |= file.needs
                bound_tokens += file.bound_tokens
                if file.normal is not None:
                    respelled[row, column] = file.normal
                if file.attachment is not None:
                    files.append(file.attachment)
    _check_addresses(files)
    return Blocks(
        frozenset(needs),
        respelled,
        tuple(files),
        bound_tokens,
        tuple(media_urls),
        tuple(pictures),
    )


def respell(messages: bytes, blocks: Blocks) -> bytes:
    """Return the messages, raw JSON, with the respelled blocks in place."""
    decoded = msgspec.json.decode(messages)
    for (row, column), block in blocks.respelled.items():
        decoded[row]["content"][column] = block
    return msgspec.json.encode(decoded)


def _address_of(part: schema.ImagePart, path: str) -> list[tuple[str, str]]:
    """Return the address behind its place, where the picture did not come along."""
    image = part.image_url
    if isinstance(image, str):
        url, param = image, f"{path}.image_url"
    else:
        url, param = image.url, f"{path}.image_url.url"
    return [] if url[:5].lower() == "data:" else [(param, url)]


def picture_of(part: schema.ImagePart, path: str) -> Picture:
    """Return what is known of a picture: of one that is elsewhere, nothing."""
    image = part.image_url
    is_low = not isinstance(image, str) and image.detail == "low"
    url, param = (image, f"{path}.image_url") if isinstance(image, str) else (image.url, "")
    param = param or f"{path}.image_url.url"
    if url[:5].lower() == "data:":
        declared, content = _read_data_url(url, param)
        found = sniff(content)
        if not found.startswith("image/"):
            raise InvalidFile("The image is none: its bytes are something else.", param=param)
        if declared and declared not in (found, "image/jpg"):
            raise InvalidFile(f"The image is {found}, not {declared}.", param=param)
        width, height = size_of(content)
        if width * height > MAX_PIXELS:
            limit = f"{MAX_PIXELS // 1_000_000} million pixels"
            raise InvalidFile(f"The image has more than {limit}.", param=param)
        return Picture(width, height, is_low)
    _check_address(url, param)
    return Picture(is_low=is_low)


def _check_address(url: str, param: str) -> None:
    if len(url) > MAX_URL_CHARS:
        raise RequestError(f"The address is longer than {MAX_URL_CHARS} characters.", param=param)
    if not re.match(r"https?://[^/\s]", url, re.I):
        raise RequestError("The address must begin with https:// or http://.", param=param)


def _check_audio(audio: schema.InputAudio, path: str) -> None:
    content = _read_base64(audio.data, f"{path}.data")
    found = sniff(content)
    ends = {"wav": "audio/wav", "mp3": "audio/mpeg", "webm": "video/webm"}
    expected = ends.get(audio.format, found)
    if found != expected:
        raise InvalidFile(f"The sound is not {audio.format}.", param=f"{path}.data")


class _File(msgspec.Struct):
    """normal: the block in the normal form, None where it is that already, or not to be had."""

    bound_tokens: int
    normal: dict[str, Any] | None = None
    needs: frozenset[str] = frozenset()
    attachment: Attachment | None = None


def _read_file(part: schema.FilePart, row: int, column: int) -> _File:
    """Return what a file block comes to: by its id, its bytes or its address, in this order."""
    path = f"messages[{row}].content[{column}]"
    source = part.file or schema.FileSource()
    file_id = source.file_id or part.file_id
    if file_id is not None:
        raise FileNotFound(f"There is no file {file_id[:64]}.", param=path)
    filename = clean_name(source.filename or part.filename or "")
    declared = (source.mime_type or part.mime_type or "").lower()
    text = source.file_data or source.data or part.data
    if text is None:
        param = f"{path}.file.file_url" if source.file_url else f"{path}.file_url"
        url = source.file_url or part.file_url
        if not url:
            raise RequestError("A file needs file_data, file_url, data or file_id.", param=path)
        _check_address(url, param)
        away = (row, column, param, filename, declared, url, "", TOKENS_PER_FILE)
        return _File(TOKENS_PER_FILE, attachment=Attachment(*away))
    param = f"{path}.file.file_data" if source.file_data else f"{path}.data"
    here = Attachment(row, column, param, filename, declared, "", text, TOKENS_PER_FILE)
    ready = read_inline(here)
    is_normal = source.file_data and text[:5].lower() == "data:" and source.filename == filename
    return _File(
        bound_file(ready.kind, ready.content),
        None if is_normal else write_file(ready),
        needs_of(ready.kind),
        here if ready.kind == PDF else None,
    )


def _check_addresses(files: Sequence[Attachment]) -> None:
    away = [file for file in files if file.address]
    if len(away) > MAX_ADDRESSES:
        raise RequestError(
            f"No more than {MAX_ADDRESSES} files are fetched for a request.",
            param=away[MAX_ADDRESSES].param,
        )


def needs_of(kind: str) -> frozenset[str]:
    """Return the abilities that a model must have for a file of this type."""
    return frozenset({"vision"}) if kind.startswith("image/") else frozenset()


def read_inline(file: Attachment) -> ReadyFile:
    """Return the bytes that came along and what they are. Raises InvalidFile."""
    if file.data[:5].lower() == "data:":
        of_url, content = _read_data_url(file.data, file.param)
    else:
        of_url, content = "", _read_base64(file.data, file.param)
    kind = agree(content, file.declared or of_url, file.filename, file.param)
    return ReadyFile(content, kind, file.filename)


def write_file(file: ReadyFile) -> dict[str, Any]:
    """Return the block in the normal form."""
    encoded = base64.b64encode(file.content).decode()
    named = {"filename": file.filename or "file"}
    return {"type": "file", "file": named | {"file_data": f"data:{file.kind};base64,{encoded}"}}


def agree(content: bytes, declared: str, filename: str, param: str) -> str:
    """Return the type that the bytes have. Raises InvalidFile when others were declared."""
    found = sniff(content)
    if not found or found.startswith(("audio/", "video/")):
        raise InvalidFile("The file is of no type that is taken here.", param=param)
    declared = declared or _BY_ENDING.get(filename.rpartition(".")[2].lower(), "")
    is_text = found == "text/plain"
    if declared in ("", "application/octet-stream", found):
        return found
    if is_text and (declared.startswith("text/") or declared == "application/json"):
        return declared
    raise InvalidFile(f"The file is {found}, not {declared[:64]}.", param=param)


def sniff(content: bytes) -> str:
    """Return the media type that the first bytes show, text/plain for text, else ""."""
    for magic, kind in _MAGIC:
        if content.startswith(magic):
            return kind
    if content[:4] == b"RIFF" and content[8:12] in (b"WEBP", b"WAVE"):
        return "image/webp" if content[8:12] == b"WEBP" else "audio/wav"
    if content[:3] == b"ID3" or (content[:1] == b"\xff" and content[1:2] >= b"\xe0"):
        return "audio/mpeg"
    if content[:4] == b"\x1a\x45\xdf\xa3":
        return "video/webm"
    return "text/plain" if content and _is_text(content) else ""


def _is_text(content: bytes) -> bool:
    if b"\0" in content:
        return False
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _read_data_url(url: str, param: str) -> tuple[str, bytes]:
    """Return the declared type and the bytes of a data: URL (RFC 2397)."""
    head, comma, rest = url.partition(",")
    if not comma:
        raise InvalidFile("The data: URL is broken.", param=param)
    kind, *parameters = head.lower().removeprefix("data:").split(";")
    if "base64" in parameters:
        return kind, _read_base64(rest, param)
    return kind, unquote_to_bytes(rest)


def _read_base64(text: str, param: str) -> bytes:
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidFile("The data is not valid base64.", param=param) from None
    if not content:
        raise InvalidFile("The data is empty.", param=param)
    return content


def clean_name(name: str) -> str:
    """Return the last part of a path without control characters, at most 255 characters."""
    last = re.split(r"[/\\]", name)[-1]
    return "".join(char for char in last if char.isprintable())[:255]
