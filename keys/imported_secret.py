"""Secrets that were issued elsewhere: what is kept of one, and whether it can be guessed.

Nothing here repeats a secret in an error.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection
from functools import lru_cache
from math import log2

from django.contrib.auth.password_validation import CommonPasswordValidator

from keys.secret import HINT_CHARS, KeptSecret, digest_secret

MAX_CHARS = 512  # the gateway reads no longer ones (gateway.admission.bearer)
# Random keys of other gateways have 100 bits and more; nobody tries 2**80. Chance makes words
# and runs in random keys too: less has to be left when those are counted as what they are.
MIN_BITS, MIN_BITS_LEFT = 80, 60
# Words between separators are one of few choices each, also where the list below lacks some.
MIN_BITS_LEFT_OF_PHRASE = 74
START_CHARS = 16
WORD_CHARS = 4
WORD_BITS = 14.0  # one of the 20,000 best known words
LONGEST_WORD = 12
LETTER_BITS = 2.6  # of a letter in a word that is not among those
# "sk-", "or-", "v1-": a word with a digit or two, and its separator.
_PART = re.compile(r"[a-z]{1,5}[0-9]{0,2}[-_]")
# The one that tells nothing to a guesser. Chance makes longer ones, and several, in random keys.
_FIRST_PART = re.compile(r"^[a-z]{1,4}[-_]")
# Letters that read as a word: many of one case together, or all between two separators.
_LETTERS = re.compile(r"[a-z]{5,}|[A-Z]{5,}|(?<![^-_])(?:[a-z]+|[A-Z]+)(?![^-_])")
_VOWEL = re.compile(r"[aeiouyAEIOUY]")  # a quarter of a word and more; of chance's letters fewer
_VISIBLE = re.compile(r"[!-~]+")
_DIGEST = re.compile(r"(?:sha-?256:)?([0-9a-f]{64})", re.IGNORECASE)


def read_secret(text: str) -> KeptSecret:
    """Return what is kept of the secret that a program sends as its key.

    Raises ValueError with a sentence for one that no program could send, or that can be guessed.
    """
    secret = text.strip()
    if secret[:7].lower() == "bearer ":
        raise ValueError("Enter the key without the word Bearer.")
    if len(secret) > MAX_CHARS:
        raise ValueError(f"A key can have at most {MAX_CHARS} characters.")
    if not _VISIBLE.fullmatch(secret):
        raise ValueError("A key can have letters, digits and punctuation (ASCII), but no spaces.")
    start = _start_of(secret)
    if is_guessable(_FIRST_PART.sub("", secret)):
        raise ValueError(
            "This key could be guessed: it is too short, or made of words or patterns. Give the"
            " program a new key instead."
        )
    return KeptSecret(digest_secret(secret), start, secret[-HINT_CHARS:], is_imported=True)


def read_digest(text: str, hint: str = "") -> KeptSecret:
    """Return what is kept of a secret of which only the SHA-256 is known, in hexadecimal digits.

    hint: its last characters, where those are known. Raises ValueError with a sentence.
    """
    found = _DIGEST.fullmatch(text.strip())
    if found is None:
        raise ValueError("A SHA-256 digest is 64 hexadecimal digits.")
    hint = hint.strip()
    if hint and not (len(hint) == HINT_CHARS and _VISIBLE.fullmatch(hint)):
        raise ValueError(f"Enter the last {HINT_CHARS} characters of the key, or leave empty.")
    return KeptSecret(found[1].lower(), "", hint, is_imported=True)


def is_guessable(text: str) -> bool:
    """True for what is too short, and for what is made of words or patterns for the most part."""
    separators = text.count("-") + text.count("_")
    is_phrase = separators >= 2 and (text == text.lower() or text == text.upper())
    needed = MIN_BITS_LEFT_OF_PHRASE if is_phrase else MIN_BITS_LEFT
    return len(text) * _char_bits(text) < MIN_BITS or estimate_bits(text) < needed


def estimate_bits(text: str) -> float:
    """Return about how many bits a guesser has to find: few for words, runs and repetitions."""
    lower, char_bits = text.lower(), _char_bits(text)
    in_words = {
        place
        for found in _LETTERS.finditer(text)
        if len(_VOWEL.findall(found[0])) * 4 >= len(found[0])
        for place in range(*found.span())
    }
    bits, place = 0.0, 0
    while place < len(lower):
        if word_chars := _word_at(lower, place):
            is_new = lower.find(lower[place : place + word_chars]) == place
            bits += min(WORD_BITS, word_chars * char_bits) if is_new else 1.0
            place += word_chars
            continue
        if _is_expected(lower, place):
            bits += 1.0
        else:
            bits += LETTER_BITS if place in in_words else char_bits
        place += 1
    return bits


def find_guessable(digests: Collection[str]) -> set[str]:
    """Return those digests whose secret is among the first that anybody would try."""
    wanted = set(digests)
    guesses = ("", *_common_words())
    tried = (f"{start}{guess}" for guess in guesses for start in ("", "sk-", "sk_"))
    return {
        digest
        for guess in tried
        if (digest := hashlib.sha256(guess.encode()).hexdigest()) in wanted
    }


def _start_of(secret: str) -> str:
    """Return the part that says what kind of key it is, to be shown; empty where there is none."""
    end = 0
    while (part := _PART.match(secret, end)) and part.end() <= START_CHARS:
        end = part.end()
    return secret[:end]


def _char_bits(text: str) -> float:
    """Return the bits of a character chosen at random among those of the kinds that are there."""
    chars = set(text)
    letters = {char for char in chars if char.isalpha()}
    lower, upper = any(map(str.islower, letters)), any(map(str.isupper, letters))
    size = 10 * any(map(str.isdigit, chars))
    size += (6 if letters <= set("abcdefABCDEF") else 26) * (lower + upper)
    return log2(max(2, size + len({char for char in chars if not char.isalnum()})))


def _is_expected(text: str, place: int) -> bool:
    """True for one that the characters before it suggest: a sequence, a repetition, a separator."""
    if place < 2:
        return False
    if text[place] in "-_" and text[place] in text[:place]:
        return True
    step = ord(text[place]) - ord(text[place - 1])
    if abs(step) <= 1 and step == ord(text[place - 1]) - ord(text[place - 2]):
        return True
    return text.find(text[place - 2 : place + 1]) < place - 2


def _word_at(text: str, place: int) -> int:
    """Return how long the longest common word is that begins there; 0 where none does."""
    words = _common_words()
    for chars in range(min(LONGEST_WORD, len(text) - place), WORD_CHARS - 1, -1):
        if text[place : place + chars] in words:
            return chars
    return 0


@lru_cache(maxsize=1)
def _common_words() -> frozenset[str]:
    """Return the words and numbers that people choose most, in lower case."""
    return frozenset(CommonPasswordValidator().passwords)
