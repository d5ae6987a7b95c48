"""What the spelling of texts can be corrected by: languages and levels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

LANGUAGES = ("de", "en", "es", "fr", "it", "nl", "pt")
Level = Literal["default", "picky"]
# default: only where one word is clearly meant. picky: the likeliest word in any case, and shorter
# words, too.
DEFAULT: Level = "default"
LEAST_LETTERS: Mapping[Level, int] = {"default": 4, "picky": 3}
ENGINE = "spelling"
