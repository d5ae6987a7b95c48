"""Sounds and pictures as a kind of provider takes them.

Samples without a head (pcm16) get that of a WAV file where only files are taken; what else is not
taken is refused with its place in the request.
"""

from __future__ import annotations

import re
from base64 import b64decode

import msgspec

from gateway.core.chat import ChatCall
from gateway.core.errors import InvalidFile
from gateway.media.inline_data import write_base64
from gateway.media.sounds import write_wav
from gateway.providers.catalogue import ProviderKind

PCM = "pcm16"
_DATA_URL = re.compile(r"data:([^;,]*);base64,", re.I)


class _Address(msgspec.Struct):
    url: str = ""


class _Sound(msgspec.Struct):
    format: str = ""


class _Part(msgspec.Struct):
    image_url: _Address | str | None = None
    input_audio: _Sound | None = None


class _Message(msgspec.Struct):
    content: str | list[_Part] | None = None


_read = msgspec.json.Decoder(list[_Message]).decode
_NEEDS = frozenset({"audio", "vision"})


def check_media(call: ChatCall, kind: ProviderKind) -> None:
    """Raise InvalidFile for a sound or a picture that the kind does not take."""
    if (kind.sounds is None and kind.pictures is None) or _NEEDS.isdisjoint(call.payload.needs):
        return
    for row, message in enumerate(_read(call.payload.fields["messages"])):
        parts = message.content if isinstance(message.content, list) else ()
        for column, part in enumerate(parts):
            _check(part, kind, f"messages[{row}].content[{column}]")


def place_sounds(call: ChatCall, ours: dict[str, bytes | None]) -> dict[str, bytes | None]:
    """Return the fields that the gateway writes, with files in the place of samples."""
    if "audio" in call.payload.needs:
        ours["messages"] = write_files(ours.get("messages") or call.payload.fields["messages"])
    return ours


def write_files(messages: bytes) -> bytes:
    """Return the messages with a WAV file in the place of each sound that has no head."""
    decoded = msgspec.json.decode(messages)
    for message in decoded:
        parts = message.get("content") if isinstance(message, dict) else None
        for part in parts if isinstance(parts, list) else ():
            sound = part.get("input_audio")
            if isinstance(sound, dict) and sound.get("format") == PCM:
                data = write_base64(write_wav(b64decode(sound["data"])))
                part["input_audio"] = {"data": data, "format": "wav"}
    return msgspec.json.encode(decoded)


def _check(part: _Part, kind: ProviderKind, path: str) -> None:
    form = part.input_audio.format if part.input_audio else PCM
    if kind.sounds is not None and form != PCM and form not in kind.sounds:
        raise InvalidFile(
            f"The audio must be {_either(kind.sounds)} for this model.",
            param=f"{path}.input_audio.format",
        )
    image = part.image_url
    found = _DATA_URL.match((image if isinstance(image, str) else image.url) if image else "")
    if found and kind.pictures is not None and found[1].lower() not in kind.pictures:
        names = frozenset(each.removeprefix("image/") for each in kind.pictures)
        raise InvalidFile(
            f"The image must be {_either(names)} for this model.", param=f"{path}.image_url.url"
        )


def _either(names: frozenset[str]) -> str:
    return " or ".join(sorted(name.upper() for name in names))
