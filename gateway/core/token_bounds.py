"""How many tokens a text is at most, and at least: cheap enough for every call, no tokenizer.

Tokenisers differ, but all we know of cut a text at its spaces and hold several letters in a token,
few digits and mostly one sign; a token is never less than a byte. So counts of classes of bytes
bound the number of tokens. docs/reliability.md has the bounds next to what a tokenizer counts.
"""

from __future__ import annotations

from string import ascii_lowercase, ascii_uppercase, digits

from gateway.core.files import ReadyFile

# Up to so many characters a text is taken for a token a character: that costs nothing to find out.
SHORT_CHARS = 1_000
TOKENS_PER_MESSAGE = 8
TOKENS_PER_IMAGE = 2_000
TOKENS_PER_FILE = 20_000

_LOWER, _UPPER, _DIGITS = ascii_lowercase.encode(), ascii_uppercase.encode(), digits.encode()
# Letters that are rare in what people write, and a quarter of random ones.
_RARE = b"jkqvwxzJKQVWXZ"
# Every space is 32, everything that words are made of "a", every other sign 46.
_KINDS = bytes(
    32 if byte in b" \t\n\r\v\f" else 97 if byte > 127 or chr(byte).isalnum() else 46
    for byte in range(256)
)


def bound_tokens(text: str) -> int:
    """Return a number of tokens that the text is very unlikely to exceed.

    Up to 1,000 characters one token each, and one for each byte beyond ASCII. Longer texts by their
    bytes: words with spaces between them cost less than what has none, such as base64.
    """
    if len(text) <= SHORT_CHARS:
        return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return _bound_bytes(text.encode("utf-8", "surrogatepass"))


def _bound_bytes(text: bytes) -> int:
    lower, upper, numerals = _count(text, _LOWER), _count(text, _UPPER), _count(text, _DIGITS)
    letters, spaces = lower + upper, text.count(b" ")
    # Signs, line ends and whatever is beyond ASCII: a token each.
    others = len(text) - letters - numerals - spaces
    has_words = 12 * spaces >= letters and 4 * upper <= letters
    if has_words and 6 * _count(text, _RARE) <= letters:
        return spaces + letters // 5 + numerals + others + 1
    # Where digits and letters take turns, each is a token.
    turns = min(numerals, letters) * 2 // 5
    words = lower * 13 // 20 + upper * 4 // 5 + spaces * 11 // 20 + min(spaces, numerals) // 2
    return words + numerals + turns + others + 1


def _count(text: bytes, those: bytes) -> int:
    """Return how many of those bytes are in a text: a third of a nanosecond for each of it."""
    return len(text) - len(text.translate(None, those))


def least_tokens(text: str) -> int:
    """Return a number of tokens that every tokenizer needs at least: one for each word that begins
    behind a space or a line end."""
    kinds = text.encode("utf-8", "surrogatepass").translate(_KINDS)
    return kinds.count(b" a") + kinds.startswith(b"a")


def bound_file(file: ReadyFile) -> int:
    """Return the bound of a file: of a text by its bytes, with its name, which models are told."""
    if not file.kind.startswith("text/") and file.kind != "application/json":
        return TOKENS_PER_FILE
    text = file.content.decode("utf-8", "replace")
    return TOKENS_PER_MESSAGE + bound_tokens(file.filename) + bound_tokens(text)
