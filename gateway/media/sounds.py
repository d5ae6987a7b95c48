"""What a sound is and how long it lasts, by its bytes. Nothing is decoded.

Containers: RIFF/WAVE, MPEG audio (ISO/IEC 11172-3), FLAC (RFC 9639), Ogg (RFC 3533), MP4 (ISO/IEC
14496-12), Matroska (RFC 9559), AIFF, ADTS.
"""

from __future__ import annotations

import struct
from codecs import BOM_UTF16_LE
from struct import unpack_from

from gateway.core.errors import InvalidFile

WAV, MP3, WEBM, FLAC, OGG = "audio/wav", "audio/mpeg", "video/webm", "audio/flac", "audio/ogg"
MP4, AIFF, AAC = "audio/mp4", "audio/aiff", "audio/aac"
ENDINGS = {
    WAV: "wav",
    MP3: "mp3",
    WEBM: "webm",
    FLAC: "flac",
    OGG: "ogg",
    MP4: "m4a",
    AIFF: "aiff",
    AAC: "aac",
}
MS_PER_S = 1_000
# OpenAI's pcm16: 16 bits, little-endian, one channel.
# https://platform.openai.com/docs/api-reference/realtime
PCM_HZ = 24_000
PCM_BYTES_PER_S = PCM_HZ * 2
_FORMATS = {"wav": WAV, "mp3": MP3, "webm": WEBM}
# kbit/s of MPEG audio, layer III, by the index in a frame's head: version 1, then 2 and 2.5.
_KBITS = (
    (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 0),
    (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160, 0),
)
_HZ = {
    3: (44_100, 48_000, 32_000, 0),
    2: (22_050, 24_000, 16_000, 0),
    0: (11_025, 12_000, 8_000, 0),
}
# Brands of pictures in the container of MP4: HEIC and AVIF.
_PICTURES = (b"hei", b"hev", b"mif", b"avi")
# How far the first frame of MPEG audio is looked for behind a tag, and the last page of Ogg.
_SEARCH_BYTES = 64 * 1024


def sniff_sound(content: bytes) -> str:
    """Return the media type of a sound that the bytes show, else ""."""
    head = content[:12]
    if head[:4] == b"RIFF" and head[8:] == b"WAVE":
        return WAV
    if head[:4] == b"FORM" and head[8:] in (b"AIFF", b"AIFC"):
        return AIFF
    if head[4:8] == b"ftyp" and head[8:11] not in _PICTURES:
        return MP4
    for magic, kind in (
        (b"fLaC", FLAC),
        (b"OggS", OGG),
        (b"\x1a\x45\xdf\xa3", WEBM),
        (b"ID3", MP3),
    ):
        if head.startswith(magic):
            return kind
    # Text in UTF-16 begins as a frame of layer I does, which nobody uses any more.
    if head[:1] == b"\xff" and head[1:2] >= b"\xe0" and head[:2] != BOM_UTF16_LE:
        # Of MPEG audio, layer 0 is none: ADTS.
        return AAC if content[1] & 0xF6 == 0xF0 else MP3
    return ""


def check_sound(content: bytes, form: str, most_s: int, param: str) -> None:
    """Raise InvalidFile for bytes that are of another format than they are said to be, and for a
    sound longer than is taken. form: wav, mp3, webm or pcm16."""
    found = sniff_sound(content)
    wanted = _FORMATS.get(form)
    if wanted is None:
        # Samples may begin with any bytes; the heads of containers are longer than chance.
        if found not in ("", MP3, AAC) or content[:3] == b"ID3":
            raise InvalidFile(f"The audio is {found}, not {form}.", param=param)
        if len(content) % 2:
            raise InvalidFile("The audio is not pcm16: it has half a sample.", param=param)
        length_ms = len(content) * MS_PER_S // PCM_BYTES_PER_S
    elif found != wanted:
        what = f"The audio is {found}, not {form}." if found else f"The audio is not {form}."
        raise InvalidFile(what, param=param)
    else:
        length_ms = read_length_ms(content) or 0
    check_length(length_ms, most_s, param)


def check_length(length_ms: int, most_s: int, param: str) -> None:
    """Raise InvalidFile for a sound that lasts too long."""
    if length_ms > most_s * MS_PER_S:
        raise InvalidFile(
            f"The audio lasts {length_ms // MS_PER_S} s. The maximum is {most_s} s.", param=param
        )


def read_length_ms(content: bytes) -> int | None:
    """Return how long a sound lasts, None where its first and last bytes do not say."""
    readers = {WAV: _of_wav, MP3: _of_mp3, FLAC: _of_flac, OGG: _of_ogg, MP4: _of_mp4}
    reader = readers.get(sniff_sound(content))
    try:
        return reader(content) if reader else None
    except (struct.error, IndexError, ZeroDivisionError):
        return None


def write_wav(samples: bytes) -> bytes:
    """Return pcm16 as a WAV file."""
    head = struct.pack("<4sI8sIHHIIHH", b"RIFF", 36 + len(samples), b"WAVEfmt ", 16, 1, 1, *_WAV)
    return head + struct.pack("<4sI", b"data", len(samples)) + samples


_WAV = (PCM_HZ, PCM_BYTES_PER_S, 2, 16)


def _of_wav(content: bytes) -> int | None:
    (bytes_per_s,) = unpack_from("<I", content, 28)
    if content[12:16] != b"fmt " or not bytes_per_s:
        return None
    return int(max(len(content) - 44, 0) * MS_PER_S // bytes_per_s)


def _of_mp3(content: bytes) -> int | None:
    """By the count of frames where the first one has it (Xing, Info), else by its bit rate."""
    start = 0
    if content[:3] == b"ID3":
        sizes = content[6:10]
        start = 10 + (sizes[0] << 21 | sizes[1] << 14 | sizes[2] << 7 | sizes[3])
    for place in range(start, min(start + _SEARCH_BYTES, len(content) - 4)):
        if content[place] == 0xFF and content[place + 1] & 0xE6 == 0xE2:  # layer III
            version, rates = content[place + 1] >> 3 & 3, content[place + 2]
            hz = _HZ[version][rates >> 2 & 3] if version in _HZ else 0
            kbits = _KBITS[version != 3][rates >> 4]
            if hz and kbits:
                break
    else:
        return None
    first = content[place : place + 64]
    mark = max(first.find(b"Xing"), first.find(b"Info"))
    if mark >= 0 and first[mark + 7] & 1:
        (frames,) = unpack_from(">I", first, mark + 8)
        return int(frames) * (1152 if version == 3 else 576) * MS_PER_S // hz
    return (len(content) - place) * 8 // kbits


def _of_flac(content: bytes) -> int | None:
    (packed,) = unpack_from(">Q", content, 18)
    hz, samples = packed >> 44, packed & 0xF_FFFF_FFFF
    return int(samples * MS_PER_S // hz) if samples else None


def _of_ogg(content: bytes) -> int | None:
    """By the position of the last page, in samples: of Opus at 48 kHz, of Vorbis as it says."""
    head = content[:256]
    if b"OpusHead" in head:
        hz = 48_000
    elif (vorbis := head.find(b"\x01vorbis")) >= 0:
        (hz,) = unpack_from("<I", head, vorbis + 12)
    else:
        return None
    last = content.rfind(b"OggS", max(len(content) - _SEARCH_BYTES, 0))
    (position,) = unpack_from("<q", content, last + 6)
    return int(max(position, 0) * MS_PER_S // hz)


def _of_mp4(content: bytes) -> int | None:
    """By the head of the film, which may be at either end."""
    place = content.find(b"mvhd", 0, _SEARCH_BYTES)
    if place < 0:
        place = content.rfind(b"mvhd")
    if place < 0:
        return None
    is_long = content[place + 4] == 1
    units, length = unpack_from(
        ">IQ" if is_long else ">II", content, place + (24 if is_long else 16)
    )
    return int(length * MS_PER_S // units)
