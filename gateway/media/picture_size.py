"""The size of a picture from the first bytes that say it. Nothing is decoded."""

from __future__ import annotations

import struct
from struct import unpack_from

# A JPEG has a dozen segments ahead of its picture; who makes thousands wants us to be busy.
MAX_SEGMENTS = 200
# Markers of JPEG frames: SOF0 to SOF15 without DHT, JPG and DAC.
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


def size_of(content: bytes) -> tuple[int, int]:
    """Return width and height in pixels, zeros where the bytes do not say."""
    try:
        if content[:8] == b"\x89PNG\r\n\x1a\n":
            width, height = unpack_from(">II", content, 16)
        elif content[:4] == b"GIF8":
            width, height = unpack_from("<HH", content, 6)
        elif content[:4] == b"RIFF":
            width, height = _size_of_webp(content)
        else:
            width, height = _size_of_jpeg(content)
    except (struct.error, IndexError):
        return 0, 0
    return (width, height) if width and height else (0, 0)


def _size_of_webp(content: bytes) -> tuple[int, int]:
    form = content[12:16]
    if form == b"VP8X" and len(content) >= 30:
        wide, high = content[24:27], content[27:30]
        return int.from_bytes(wide, "little") + 1, int.from_bytes(high, "little") + 1
    if form == b"VP8L":
        (bits,) = unpack_from("<I", content, 21)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if form == b"VP8 ":
        width, height = unpack_from("<HH", content, 26)
        return width & 0x3FFF, height & 0x3FFF
    return 0, 0


def _size_of_jpeg(content: bytes) -> tuple[int, int]:
    """Hop from segment to segment, to the one that begins the picture."""
    place = 2
    for _ in range(MAX_SEGMENTS):
        if content[place] != 0xFF:
            return 0, 0
        marker = content[place + 1]
        if marker == 0xFF:  # filling
            place += 1
            continue
        if marker in _FRAMES:
            height, width = unpack_from(">HH", content, place + 5)
            return width, height
        (length,) = unpack_from(">H", content, place + 2)
        place += 2 + length
    return 0, 0
