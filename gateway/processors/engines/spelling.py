"""Corrects the spelling of texts by word lists. Imported in a child process alone
(gateway.processors.engine_pool).

A request has `texts`, `language` and `level` (gateway.processors.spelling_levels). The answer has
`found`: for each text a list of start, end and the word to put there, in characters of the text as
it was written.

Only words in lower case are looked at, because others are names, nouns or abbreviations, and none
that stands in code, a formula, a link, markup or a placeholder. A paragraph in another language, or
of which too many words are unknown, is left as it is.
"""

from __future__ import annotations

import gzip
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import islice
from pathlib import Path
from string import ascii_lowercase
from typing import NamedTuple

import msgspec
import spellchecker

from gateway.processors.engines import language as languages
from gateway.processors.spelling_levels import DEFAULT, LEAST_LETTERS, Level

FOLDER = Path(spellchecker.__file__).parent / "resources"
# From so many words on, a paragraph with this share of unknown ones is not corrected.
MANY_WORDS, UNKNOWN_SHARE = 6, 0.6
# A paragraph this long that is in another language with this confidence is not corrected.
LANGUAGE_CHARS, OTHER_LANGUAGE = 40, 0.8
# How often the word to put there has to occur in the list, and how much more often than the next.
LEAST_COUNT, LEAST_COUNT_OF_BASE_FORMS = 200, 1_000
AHEAD = 5
# Longer ones are no words of these languages.
MOST_LETTERS = 40
# What is in fewer of so many words is no letter of the language.
LEAST_OF_LETTER, WORDS_LOOKED_AT = 100, 50_000
# Lists that have few inflected forms: only letters that are doubled or exchanged are corrected.
BASE_FORMS_ONLY = frozenset({"es"})
# British spellings, which the English list has not, each with what it has.
_BRITISH = (
    ("our", "or"),
    ("is", "iz"),
    ("ys", "yz"),
    ("ll", "l"),
    ("tre", "ter"),
    ("ae", "e"),
    ("oe", "e"),
)

# What is never looked at, each replaced by as many characters that separate words.
_UNTOUCHED = re.compile(
    r"(?:^|(?<=\n))(?P<fence>`{3,}|~{3,})[^\n]*\n.*?(?:\n[ \t]*(?P=fence)[`~]*[ \t]*(?=\n|$)|$)"
    r"|(?<!`)(?P<ticks>`+)(?!`).{1,2000}?(?<!`)(?P=ticks)(?!`)"
    r"|(?:^|(?<=\n))(?: {4}|\t)[^\n]*"
    r"|(?:^|(?<=\n))[ \t]{0,3}(?:[{}\[\]]|\"[^\"\n]{1,200}\" ?:)[^\n]*"
    r"|\$\$.{1,2000}?\$\$|\$[^$\n]{1,200}\$|\\\(.{1,500}?\\\)|\\\[.{1,2000}?\\\]"
    r"|<[^<>\n]{1,300}>|\{\{.{1,200}?\}\}|\{[^{}\n]{1,300}\}|%\([^()\n]{1,60}\)s"
    r"|\]\([^()\n]{1,500}\)|\[[^\[\]\n]{1,60}\](?=:)"
    r"|[^\W\d]\w{0,100}\(\)"
    r"|[\w.+-]{1,64}@[\w.-]+|\b[a-z][a-z0-9+.-]{1,15}:[^\s]+|\bwww\.[^\s]+",
    re.DOTALL,
)
_PARAGRAPH = re.compile(r"[^\n]+")
_CHUNK = re.compile(r"\S+")
# After what is no whole word: dell'arte, l'homme.
_ELISIONS = ("'", "\u2019")
_WORD = re.compile(r"[^\W\d_]+")
# Around a word, and within a chunk of several.
_AROUND = (
    "*_~\"'()[].,;:!?-\u2018\u2019\u201c\u201d\u201e\xab\xbb\u2039\u203a\u2026\xbf\xa1\u2013\u2014"
)
_WITHIN = re.compile(r"[^\W\d_]+(?:['\u2019\u2013\u2014-][^\W\d_]+)*")


class Request(msgspec.Struct):
    texts: list[str]
    language: str
    # Nothing is to be corrected: where do those places begin and end that are never looked at?
    untouched: bool = False
    level: Level = DEFAULT


class WordList(NamedTuple):
    """counts: how often each word occurs in texts of the language."""

    counts: dict[str, int]
    letters: str


Found = tuple[int, int, str]


def handle(request: dict[str, object]) -> dict[str, object]:
    """Return what is to be corrected in every text."""
    asked = msgspec.convert(request, Request)
    if asked.untouched:
        return {"untouched": [[one.span() for one in _UNTOUCHED.finditer(t)] for t in asked.texts]}
    speller = Speller(asked.language, asked.level)
    return {"found": [[list(one) for one in speller.correct(text)] for text in asked.texts]}


@cache
def read_words(language: str) -> WordList:
    """Return the list of a language, which takes a moment once."""
    data = gzip.decompress((FOLDER / f"{language}.json.gz").read_bytes())
    counts = msgspec.json.decode(data, type=dict[str, int])
    in_words = Counter(letter for word in islice(counts, WORDS_LOOKED_AT) for letter in set(word))
    letters = {one for one, count in in_words.items() if count >= LEAST_OF_LETTER and one.isalpha()}
    return WordList(counts, "".join(sorted(letters.union(ascii_lowercase))))


class Speller:
    """Corrects texts of one language."""

    def __init__(self, language: str, level: Level) -> None:
        self._language = language
        self._level = level
        self._counts, self._letters = read_words(language)
        self._is_careful = language in BASE_FORMS_ONLY
        self._least_count = LEAST_COUNT_OF_BASE_FORMS if self._is_careful else LEAST_COUNT
        self._english = read_words("en").counts

    def correct(self, text: str) -> Iterator[Found]:
        """Yield what is to be corrected, in the order of the text."""
        shown = _UNTOUCHED.sub(lambda found: re.sub(r"[^\n]", "\x00", found[0]), text)
        for paragraph in _PARAGRAPH.finditer(shown):
            checked = unknown = 0
            found: list[Found] = []
            for start, word in _words_of(paragraph[0]):
                if not LEAST_LETTERS[self._level] <= len(word) <= MOST_LETTERS:
                    continue
                if not word.islower():
                    continue
                checked += 1
                if self.knows(word):
                    continue
                unknown += 1
                better = self.find_better(word)
                if better is not None:
                    place = paragraph.start() + start
                    found.append((place, place + len(word), better))
            is_foreign = checked >= MANY_WORDS and unknown > UNKNOWN_SHARE * checked
            if found and not is_foreign and not _is_other(paragraph[0], self._language):
                yield from found

    def knows(self, word: str) -> bool:
        """True for a word of the language, or of English, which every language borrows from."""
        return (
            word in self._counts
            or word in self._english
            or (self._language == "de" and word.replace("ß", "ss") in self._counts)
        )

    def find_better(self, word: str) -> str | None:
        """Return the word that was meant; None where that is not clear."""
        counts = self._counts
        ranked = sorted(
            {one for one in self._edits(word) if one in counts},
            key=lambda one: (-counts[one], one),
        )
        if not ranked or counts[ranked[0]] < self._least_count:
            return None
        is_sure = len(ranked) == 1 or counts[ranked[0]] >= AHEAD * counts[ranked[1]]
        if self._level == DEFAULT and not is_sure:
            return None
        if self._language in VARIANTS and VARIANTS[self._language](word, ranked[0]):
            return None
        return ranked[0]

    def _edits(self, word: str) -> Iterator[str]:
        """Yield texts that are one letter more, less or other than a word, or have two of its
        letters in the other order. The first and the last letter stay: a change there would more
        often be another inflection than a slip."""
        for place in range(1, len(word)):
            head, tail = word[:place], word[place:]
            if tail[0] == head[-1]:
                yield head + tail[1:]
            if len(tail) > 1 and tail[0] != tail[1]:
                yield head + tail[1] + tail[0] + tail[2:]
            if self._is_careful:
                continue
            if len(tail) > 1:
                yield head + tail[1:]
                for letter in self._letters:
                    yield head + letter + tail[1:]
            for letter in self._letters:
                yield head + letter + tail


def is_british(word: str, american: str) -> bool:
    """True when two words differ as British and American spellings do."""
    return any(one in word and word.replace(one, other) == american for one, other in _BRITISH)


def is_brazilian(word: str, european: str) -> bool:
    """True when two words differ in diacritics alone."""
    return _without_marks(word) == _without_marks(european)


def _without_marks(word: str) -> str:
    return "".join(one for one in unicodedata.normalize("NFD", word) if one.isalpha())


# Of languages whose list has one of two ways to spell: whether two words are such ways.
VARIANTS: Mapping[str, Callable[[str, str], bool]] = {"en": is_british, "pt": is_brazilian}


def _words_of(paragraph: str) -> Iterator[tuple[int, str]]:
    """Yield the words that stand for themselves, with their places."""
    for chunk in _CHUNK.finditer(paragraph.replace("\x00", " ")):
        inner = chunk[0].strip(_AROUND)
        if not _WITHIN.fullmatch(inner):
            continue
        # What touches code, a link or a placeholder is a part of it.
        before = paragraph[chunk.start() - 1 : chunk.start()] if chunk.start() else ""
        if "\x00" in (before, paragraph[chunk.end() : chunk.end() + 1]):
            continue
        offset = chunk.start() + chunk[0].index(inner)
        for word in _WORD.finditer(inner):
            if inner[word.end() : word.end() + 1] in _ELISIONS:
                continue
            yield offset + word.start(), word[0]


def _is_other(paragraph: str, language: str) -> bool:
    text = paragraph.replace("\x00", " ")
    if len(text.strip()) < LANGUAGE_CHARS:
        return False
    answer = msgspec.convert(
        languages.handle({"text": text})["candidates"], list[tuple[str, float]]
    )
    return bool(answer) and answer[0][0] != language and answer[0][1] >= OTHER_LANGUAGE
