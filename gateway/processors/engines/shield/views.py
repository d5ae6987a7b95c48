"""A text as a model could read it: in plain characters, and with what is hidden in it shown."""

from __future__ import annotations

import base64
import binascii
import codecs
import re
import unicodedata
from collections.abc import Iterator
from itertools import islice
from urllib.parse import unquote

# Letters of other scripts that look like a Latin one.
_LOOK_ALIKES = str.maketrans(
    "абвеёіїјкмнорстухѕԁɡһԛԝαβεηικμνορτυχωﬁı",
    "a6beeiijkmhopctyxsdghqwabenikmvoptuxwfi",
)
# Digits and signs that stand for letters within words.
_LEET = str.maketrans("013457@$!|+", "oieastasiit")
_LEET_WORD = re.compile(r"(?<!\S)(?=\S*[^\W\d_])(?=\S*[0-9@$!|+])[\w@$!|+]{2,24}")
# Letters with a sign or a space after each, six at least.
_SPACED = re.compile(r"(?<!\w)(?:[^\W\d_](?:[ \t]{1,3}|[.\-_*|/]{1,2})){5,}[^\W\d_](?!\w)")
_BASE64 = re.compile(r"(?<![\w+/=-])[A-Za-z0-9+/_-]{20,}={0,2}(?![\w+/=-])")
_HEX = re.compile(
    r"(?<!\w)(?:0x)?((?:[0-9a-fA-F]{2}){12,}|(?:(?:\\x|0x)?[0-9a-fA-F]{2}[ ,]?){12,})(?!\w)"
)
_PERCENT = re.compile(r"%[0-9a-fA-F]{2}")
_TAGS = re.compile("[\U000e0020-\U000e007e]{4,}")
_MARKS = frozenset({"Mn", "Me", "Cf"})
_NOT_WORDS = re.compile(r"[\W_]+")
# Words of which one is in nearly every attack, as they look read backwards, and shifted by 13.
_STEMS = ("instruc", "instruk", "prompt", "regle", "regel", "regol", "regras", "rules", "istruz")
_REVERSED = tuple(stem[::-1] for stem in _STEMS)
_SHIFTED = tuple(codecs.encode(stem, "rot13") for stem in _STEMS)
# Decoded once more where something is in it.
MAX_DEPTH = 2
# Of one text.
MAX_PIECES = 64
# So many characters written with a percent sign make a text that is decoded.
LEAST_PERCENT = 3
# Of what was decoded, this share has to be letters and spaces.
READABLE_SHARE = 0.8


def plain(text: str) -> str:
    """Return a text in lower case, without diacritics, look-alike letters and what nobody sees."""
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFKC", text).casefold().translate(_LOOK_ALIKES)
    text = unicodedata.normalize("NFD", text)
    return "".join([c for c in text if unicodedata.category(c) not in _MARKS])


def words(text: str) -> str:
    """Return the words of a plain text, one space between them."""
    return f" {_NOT_WORDS.sub(' ', text).strip()} "


def without_digits(text: str) -> str | None:
    """Return a plain text whose words are spelled with letters alone; None where they are."""
    changed = _LEET_WORD.sub(lambda found: found[0].translate(_LEET), text)
    return None if changed == text else changed


def joined(text: str) -> tuple[str, list[str]] | None:
    """Return a plain text with the words joined that are spelled letter by letter, and those words;
    None where there are none. Words without anything longer between them become one."""
    runs: list[str] = []

    def join(found: re.Match[str]) -> str:
        runs.append(_NOT_WORDS.sub("", found[0]))
        return runs[-1]

    changed = _SPACED.sub(join, text)
    return (changed, runs) if runs else None


def hidden(text: str, depth: int = MAX_DEPTH) -> Iterator[str]:
    """Yield the texts that are hidden in a text as it was written."""
    for found in _decoded(text):
        yield found
        if depth > 1:
            yield from hidden(found, depth - 1)


def _decoded(text: str) -> Iterator[str]:
    pieces = 0
    for pattern, decode in _ENCODINGS:
        for found in pattern.finditer(text):
            pieces += 1
            if pieces > MAX_PIECES:
                return
            decoded = decode(found[0])
            if decoded and is_readable(decoded):
                yield decoded
    if len(list(islice(_PERCENT.finditer(text), LEAST_PERCENT))) == LEAST_PERCENT:
        yield unquote(text)
    low = text.lower()
    if any(stem in low for stem in _REVERSED):
        yield text[::-1]
    if any(stem in low for stem in _SHIFTED):
        yield codecs.encode(text, "rot13")


def is_readable(text: str) -> bool:
    """True for what can be a sentence."""
    good = sum(c.isalpha() or c in " \n,.:;!?'\"" for c in text)
    return len(text) >= 8 and good >= READABLE_SHARE * len(text)


def _read_base64(text: str) -> str:
    data = text.rstrip("=").translate({ord("-"): "+", ord("_"): "/"})
    try:
        return base64.b64decode(data + "=" * (-len(data) % 4)).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return ""


def _read_hex(text: str) -> str:
    digits = re.sub(r"\\x|0x|[ ,]", "", text)
    try:
        return bytes.fromhex(digits).decode()
    except ValueError:
        return ""


def _read_tags(text: str) -> str:
    return "".join(chr(ord(c) - 0xE0000) for c in text)


_ENCODINGS = (
    (_TAGS, _read_tags),
    (_BASE64, _read_base64),
    (_HEX, _read_hex),
)
