"""Placeholders: what stands in a text for a value that was taken out of it.

One is `<INF_EMAIL_ADDRESS_1>`: the type of the value, and its number among those of the type. In
JSON the brackets may be written as escapes, which some models and servers do.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

PREFIX = "INF"
# Anything that looks like one, whoever wrote it, and its name.
ANY = re.compile(r"<([A-Z][A-Z0-9_]*)>")
_ANY_IN_JSON = re.compile(r"(?:<|\\u003[cC])([A-Z][A-Z0-9_]*)(?:>|\\u003[eE])")
_OPENINGS, _CLOSINGS = ("<", "\\u003c", "\\u003C"), (">", "\\u003e", "\\u003E")
_OPENING, _OPENING_IN_JSON = re.compile("<"), re.compile(r"[<\\]")
_WORD = re.compile(r"\w+")
# Shorter values that were taken out elsewhere are replaced only where they are found.
LEAST_SHARED_CHARS = 4


class Found(Struct, frozen=True, array_like=True):
    """A value, by its place in a text."""

    type: str
    start: int
    end: int
    score: float


class Placeholders:
    """Those of one call: the same value always gets the same one.

    avoided: texts that callers may have written with placeholders in them, which stay theirs: none
    of ours is like one of those. form: how they are made, of a type and a number. known: values
    that have a placeholder from elsewhere, which stands for them here, too.
    """

    def __init__(
        self,
        avoided: Iterable[str] = (),
        *,
        form: str = f"<{PREFIX}_{{}}_{{}}>",
        known: Mapping[str, str] = {},
    ) -> None:
        self._form = form
        self._from_elsewhere = known
        # Of those, what was replaced here.
        self.shared: set[str] = set()
        # Their names.
        self.foreign = frozenset(name for text in avoided for name in ANY.findall(text))
        # By value, in the order in which they were first seen.
        self.given: dict[str, str] = {}
        self.types: Counter[str] = Counter()
        self._last: Counter[str] = Counter()
        # Values by their first words, the longest first, each with where that word is in it.
        self._by_word: dict[str, list[tuple[str, int]]] = {}
        for value in known:
            if len(value) >= LEAST_SHARED_CHARS:
                self._know(value)

    def avoid(self, texts: Iterable[str]) -> None:
        """None given from now on is like one that stands in these texts."""
        names = {name for text in texts for name in ANY.findall(text)}
        self.foreign |= {name for name in names if f"<{name}>" not in self.originals}

    @property
    def originals(self) -> dict[str, str]:
        """Return the values by their placeholders."""
        return {placeholder: value for value, placeholder in self.given.items()}

    def give(self, kind: str, value: str, *, is_known: bool = True) -> str:
        """Return the placeholder of a value. is_known: other texts get it for the same word."""
        known = self.given.get(value) or self._from_elsewhere.get(value)
        if known is not None:
            return known
        while True:
            self._last[kind] += 1
            placeholder = self._form.format(kind, self._last[kind])
            if placeholder[1:-1] not in self.foreign:
                break
        self.given[value] = placeholder
        self.types[kind] += 1
        if is_known:
            self._know(value)
        return placeholder

    def write(self, text: str, found: Sequence[Found]) -> str:
        """Return a text with placeholders for what was found in it, and for values that were found
        anywhere else and stand in it as whole words. found: in its order, none overlaps; every
        value has its placeholder."""
        pieces: list[str] = []
        end = 0
        for one in found:
            pieces += self._write_known(text, end, one.start)
            pieces.append(self._placeholder_of(text[one.start : one.end]))
            end = one.end
        pieces += self._write_known(text, end, len(text))
        return "".join(pieces)

    def _know(self, value: str) -> None:
        """Have a value replaced wherever it stands as a word."""
        if (word := _WORD.search(value)) is not None:
            values = self._by_word.setdefault(word[0], [])
            values.append((value, word.start()))
            values.sort(key=lambda one: len(one[0]), reverse=True)

    def _placeholder_of(self, value: str) -> str:
        given = self.given.get(value)
        if given is not None:
            return given
        self.shared.add(value)
        return self._from_elsewhere[value]

    def _write_known(self, text: str, start: int, end: int) -> Iterator[str]:
        """Yield a stretch of a text with placeholders for known values."""
        for word in _WORD.finditer(text, start, end):
            for value, offset in self._by_word.get(word[0], ()):
                first = word.start() - offset
                last = first + len(value)
                if first < start or last > end or not text.startswith(value, first):
                    continue
                if is_word(text, first) and is_word(text, last):
                    yield text[start:first]
                    yield self._placeholder_of(value)
                    start = last
                    break
        yield text[start:end]


def is_word(text: str, place: int) -> bool:
    """True when no word goes on at a place of a text."""
    sides = text[max(place - 1, 0) : place], text[place : place + 1]
    return not all(side and (side.isalnum() or side == "_") for side in sides)


class Spellings:
    """How the placeholders of a call can be written in a text, or in JSON, and what stands for
    each there."""

    def __init__(self, originals: Mapping[str, str], *, is_json: bool = False) -> None:
        """originals: values by their placeholders."""
        self._is_json = is_json
        self._pattern = _ANY_IN_JSON if is_json else ANY
        self._opening = _OPENING_IN_JSON if is_json else _OPENING
        # By names.
        self._values: dict[str, str] = {}
        self.add(originals)

    def add(self, originals: Mapping[str, str]) -> None:
        """Have other values, too."""
        is_json = self._is_json
        self._values |= {
            placeholder[1:-1]: json.dumps(value, ensure_ascii=False)[1:-1] if is_json else value
            for placeholder, value in originals.items()
        }
        self._sorted = sorted(
            f"{opening}{name}{closing}"
            for name in self._values
            for opening in _OPENINGS[: 3 if is_json else 1]
            for closing in _CLOSINGS[: 3 if is_json else 1]
        )
        self.longest = max(map(len, self._sorted), default=0)

    def put_back(self, text: str) -> tuple[str, int]:
        """Return a text with the values for their placeholders, and where what comes after the last
        of them begins."""
        pieces: list[str] = []
        end = 0
        for match in self._pattern.finditer(text):
            value = self._values.get(match[1])
            if value is not None:
                pieces += (text[end : match.start()], value)
                end = match.end()
        if not end:
            return text, 0
        done = "".join(pieces)
        return done + text[end:], len(done)

    def count(self, text: str) -> tuple[int, list[str]]:
        """Return how many placeholders a text has whose values are known, and the names of what
        looks like one of ours and is none."""
        names = self._pattern.findall(text)
        known = sum(name in self._values for name in names)
        ours = f"{PREFIX}_"
        return known, [one for one in names if one not in self._values and one.startswith(ours)]

    def open_end(self, text: str, start: int) -> int:
        """Return where, from start on, a placeholder may have begun that the text does not have to
        its end; the text's length where none can."""
        start = max(start, len(text) - self.longest + 1)
        for match in self._opening.finditer(text, start):
            if self._begins(text[match.start() :]):
                return match.start()
        return len(text)

    def _begins(self, text: str) -> bool:
        index = bisect_left(self._sorted, text)
        return index < len(self._sorted) and self._sorted[index].startswith(text)
