"""What pictures, pages of PDFs and sounds are in tokens: the published rules, a row each.

Found by the name that a provider has for the model; a name that nobody knows has OpenAI's.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil, sqrt
from typing import Protocol

import msgspec


class Picture(msgspec.Struct, frozen=True):
    """A picture of a call: pixels, 0 where they are not known; detail as the caller says it."""

    width: int = 0
    height: int = 0
    is_low: bool = False


class PictureRule(Protocol):
    """Returns the tokens of a picture, of one of unknown size the most that it can be."""

    def __call__(self, picture: Picture) -> int: ...


class Tiles(msgspec.Struct, frozen=True):
    """OpenAI: scaled into 2048 x 2048, then its shorter side to 768; so many tiles of 512."""

    base: int
    tile: int

    def __call__(self, picture: Picture) -> int:
        if picture.is_low:
            return self.base
        if not picture.width:
            return self.base + 8 * self.tile
        scale = min(1.0, 2048 / max(picture.width, picture.height))
        scale *= min(1.0, 768 / (min(picture.width, picture.height) * scale))
        wide, high = ceil(picture.width * scale / 512), ceil(picture.height * scale / 512)
        return self.base + wide * high * self.tile


class Patches(msgspec.Struct, frozen=True):
    """Squares of `side` pixels, scaled down to at most `most` of them, times a factor."""

    side: int
    most: int
    percent: int = 100
    longest: int = 0  # pixels that a side is scaled down to

    def __call__(self, picture: Picture) -> int:
        width, height = float(picture.width), float(picture.height)
        if not width:
            return ceil(self.most * self.percent / 100)
        if self.longest and max(width, height) > self.longest:
            scale = self.longest / max(width, height)
            width, height = width * scale, height * scale
        count = ceil(width / self.side) * ceil(height / self.side)
        if count > self.most:
            scale = sqrt(self.most * self.side**2 / (width * height))
            width, height = width * scale, height * scale
            count = max(int(width / self.side), 1) * max(int(height / self.side), 1)
        return ceil(min(count, self.most) * self.percent / 100)


class Area(msgspec.Struct, frozen=True):
    """Anthropic: pixels / 750, scaled down to 1568 on the longer side and 1600 tokens."""

    def __call__(self, picture: Picture) -> int:
        if not picture.width:
            return 1_600
        scale = min(1.0, 1568 / max(picture.width, picture.height))
        return max(min(int(picture.width * picture.height * scale**2 / 750), 1_600), 1)


class Crops(msgspec.Struct, frozen=True):
    """Gemini: 258 up to 384 x 384, else for each crop of 768 x 768."""

    def __call__(self, picture: Picture) -> int:
        if not picture.width:
            return 16 * 258
        if max(picture.width, picture.height) <= 384:
            return 258
        return 258 * ceil(picture.width / 768) * ceil(picture.height / 768)


class SmallTiles(msgspec.Struct, frozen=True):
    """xAI: 256 for each tile of 448 x 448, at most six, and for the whole."""

    def __call__(self, picture: Picture) -> int:
        tiles = ceil(picture.width / 448) * ceil(picture.height / 448) if picture.width else 6
        return 256 * (min(tiles, 6) + 1)


class Rules(msgspec.Struct, frozen=True):
    """Of one family of models. page_tokens: of a page of a PDF, its text and its picture.
    sound_tokens: of a second of sound."""

    picture: PictureRule
    page_tokens: int = 1_500
    sound_tokens: int = 10


_OPENAI = Rules(Tiles(85, 170))
# The longest name that a model's begins with has it; what is before the last slash is left out.
_FAMILIES: tuple[tuple[str, Rules], ...] = (
    ("gpt-4o-mini", Rules(Tiles(2833, 5667))),
    ("gpt-4.1-mini", Rules(Patches(32, 1536, 162))),
    ("gpt-4.1-nano", Rules(Patches(32, 1536, 246))),
    ("gpt-5-mini", Rules(Patches(32, 1536, 162))),
    ("gpt-5-nano", Rules(Patches(32, 1536, 246))),
    ("gpt-5", Rules(Tiles(70, 140))),
    ("o4-mini", Rules(Patches(32, 1536, 172))),
    ("o1", Rules(Tiles(75, 150))),
    ("o3", Rules(Tiles(75, 150))),
    ("computer-use", Rules(Tiles(65, 129))),
    ("claude", Rules(Area(), page_tokens=3_000)),
    ("gemini", Rules(Crops(), page_tokens=258, sound_tokens=32)),
    ("gemma-3", Rules(Patches(1, 256), page_tokens=258)),
    ("grok", Rules(SmallTiles())),
    ("qwen", Rules(Patches(28, 16_384))),
    ("pixtral", Rules(Patches(16, 4_096, longest=1024))),
    ("mistral", Rules(Patches(28, 3_025, longest=1540))),
    ("llama-4", Rules(Patches(28, 2_448))),
)


@lru_cache(maxsize=1024)
def rules_of(native_model: str) -> Rules:
    """Return the rules of a model by its provider's name for it."""
    name = native_model.lower().rpartition("/")[2]
    found = [family for family in _FAMILIES if name.startswith(family[0])]
    return max(found, key=lambda family: len(family[0]))[1] if found else _OPENAI
