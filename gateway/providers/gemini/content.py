"""Parts of a message as Gemini's parts: text, pictures, sounds, documents.

References: https://ai.google.dev/gemini-api/docs/generate-content/file-input-methods,
https://ai.google.dev/gemini-api/docs/image-understanding,
https://docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference#blob
A picture's address goes as it is: Google fetches it.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from gateway.core.chat import AnyPart, Audio, Document, Image, Text
from gateway.core.errors import InvalidFile
from gateway.media.inline_data import write_base64
from gateway.media.media_types import PDF
from gateway.media.sounds import write_wav

Part = dict[str, object]
PICTURES = frozenset({"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"})
BY_SUFFIX: Mapping[str, str] = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "webp": "image/webp",
    "heic": "image/heic",
    "heif": "image/heif",
}
SOUNDS: Mapping[str, str] = {"wav": "audio/wav", "mp3": "audio/mp3"}
# Samples without a head, which get that of a WAV file.
PCM = "pcm16"


def write_parts(parts: Iterable[AnyPart], *, needs_type: bool) -> list[Part]:
    """Return texts, pictures, sounds and documents; other parts are left out.

    needs_type: an address has to come with the type of what is there. Raises InvalidFile with the
    part's path.
    """
    written = (_write(part, needs_type=needs_type) for part in parts)
    return [part for part in written if part is not None]


def _write(part: AnyPart, *, needs_type: bool) -> Part | None:
    match part:
        case Text():
            return {"text": part.text} if part.text else None
        case Image():
            return _picture_by_url(part, needs_type=needs_type) if part.url else _picture(part)
        case Document():
            return _document(part)
        case Audio():
            return _sound(part)
        case _:
            return None


def _inline(media_type: str, data: str) -> Part:
    return {"inlineData": {"mimeType": media_type, "data": data}}


def _picture(picture: Image) -> Part:
    if picture.media_type not in PICTURES:
        raise InvalidFile(
            "The image must be a PNG, JPEG or WebP for this model.", param=picture.param
        )
    return _inline(picture.media_type, picture.data)


def _picture_by_url(picture: Image, *, needs_type: bool) -> Part:
    if picture.url[:8].lower() != "https://":
        raise InvalidFile(
            "Image URLs must begin with https:// for this model.", param=picture.param
        )
    suffix = urlsplit(picture.url).path.rpartition(".")[2].lower()
    file = {"fileUri": picture.url}
    if suffix in BY_SUFFIX:
        file["mimeType"] = BY_SUFFIX[suffix]
    elif needs_type:
        raise InvalidFile(
            "Image URLs must end in .png, .jpg, .webp, .heic or .heif for this model.",
            param=picture.param,
        )
    return {"fileData": file}


def _sound(sound: Audio) -> Part:
    if sound.format == PCM:
        return _inline(SOUNDS["wav"], write_base64(write_wav(b64decode(sound.data))))
    if sound.format not in SOUNDS:
        raise InvalidFile("The audio must be WAV or MP3 for this model.", param=sound.param)
    return _inline(SOUNDS[sound.format], sound.data)


def _document(document: Document) -> Part:
    if document.media_type == PDF:
        return _inline(PDF, document.data)
    try:
        b64decode(document.data, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise InvalidFile(
            "This model only supports PDF and text files.", param=document.param
        ) from None
    return _inline("text/plain", document.data)
