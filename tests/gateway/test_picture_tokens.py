"""Sizes of pictures from their headers, and what providers say they are in tokens."""

from __future__ import annotations

import io
import struct

import pytest
from PIL import Image

from gateway.core.attachment_tokens import Picture, rules_of
from gateway.media.picture_size import size_of


@pytest.mark.parametrize("size", [(1, 1), (640, 480), (3000, 17)])
@pytest.mark.parametrize(
    ("form", "options"),
    [
        ("PNG", {}),
        ("GIF", {}),
        ("JPEG", {}),
        ("JPEG", {"progressive": True, "icc_profile": b"i" * 100_000, "exif": b"Exif" * 9_000}),
        ("WEBP", {}),
        ("WEBP", {"lossless": True}),
        ("WEBP", {"exif": b"Exif" * 100}),
    ],
)
def test_a_size_is_read_from_the_first_bytes(
    size: tuple[int, int], form: str, options: dict[str, object]
) -> None:
    written = io.BytesIO()
    Image.new("RGB", size).save(written, form, **options)

    assert size_of(written.getvalue()) == size


@pytest.mark.parametrize(
    "content",
    [
        b"\x89PNG\r\n\x1a\n\0\0",
        b"GIF89a\x01",
        b"RIFF\0\0\0\0WEBPVP8X",
        b"RIFF\0\0\0\0WEBPABCD" + bytes(20),
        b"\xff\xd8\xff",
        b"\xff\xd8" + b"\xff\xe0\x00\x02" * 100_000,
        b"\xff\xd8" + b"\xff" * 100_000,
        b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 0, 5),
        b"",
    ],
)
def test_bytes_that_say_no_size_have_none(content: bytes) -> None:
    assert size_of(content) == (0, 0)


@pytest.mark.parametrize(
    ("model", "size", "tokens"),
    [
        ("gpt-4o-2024-11-20", (1024, 1024), 765),
        ("openai/gpt-4o", (2048, 4096), 1105),
        ("gpt-4o", (512, 512), 255),
        ("gpt-4o-mini", (512, 512), 8500),
        ("gpt-4.1-mini", (1024, 1024), 1659),
        ("gpt-5", (1024, 1024), 630),
        ("o3", (1024, 1024), 675),
        ("claude-sonnet-4-5", (1000, 1000), 1333),
        ("claude-sonnet-4-5", (8000, 6000), 1600),
        ("google/gemini-2.5-flash", (384, 384), 258),
        ("gemini-2.5-pro", (1920, 1080), 1548),
        ("grok-4", (896, 448), 768),
        ("Qwen/Qwen2.5-VL-72B", (560, 280), 200),
        ("unheard-of", (1024, 1024), 765),
    ],
)
def test_pictures_cost_what_providers_publish(
    model: str, size: tuple[int, int], tokens: int
) -> None:
    assert rules_of(model).picture(Picture(*size)) == tokens


@pytest.mark.parametrize("model", ["gpt-4o", "gpt-4.1-nano", "claude-3", "gemini", "grok", "qwen"])
def test_no_picture_of_a_usual_size_is_more_than_one_of_unknown_size(model: str) -> None:
    rule = rules_of(model).picture
    sizes = [(n, m) for n in (1, 300, 768, 2048, 3000) for m in (1, 500, 1024, 3000)]

    assert max(rule(Picture(*size)) for size in sizes) <= rule(Picture())
    assert rules_of("gpt-4o").picture(Picture(4000, 4000, is_low=True)) == 85
