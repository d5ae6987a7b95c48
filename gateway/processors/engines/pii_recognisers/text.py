"""A text as recognisers read it, and what they find in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

# A personal datum is taken for one from this score on, unless the caller says otherwise.
DEFAULT_THRESHOLD = 0.7
# How far from a datum a word may stand that says what it is.
BEFORE, AFTER = 48, 24

# Characters that look like a plain one, each of which becomes exactly one character.
_PLAIN = {
    **dict.fromkeys([0xA0, 0x202F, *range(0x2000, 0x200B)], " "),
    **dict.fromkeys([*range(0x2010, 0x2016), 0x2212, 0xFE63], "-"),
    **dict.fromkeys([0x2018, 0x2019, 0x02BC], "'"),
    **{code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)},
    **{start + n: str(n) for start in (0x0660, 0x06F0, 0x0966) for n in range(10)},
}
# Characters that nobody sees, and that would hide a number from a pattern.
_INVISIBLE = re.compile("[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")


class Finding(NamedTuple):
    """A personal datum, by its place in the text as it was written."""

    type: str
    start: int
    end: int
    score: float


class Text:
    """A text in plain characters, without those that cannot be seen."""

    def __init__(self, written: str) -> None:
        plain = written if written.isascii() else written.translate(_PLAIN)
        self._places: list[int] | None = None
        if not plain.isascii() and _INVISIBLE.search(plain):
            self._places = [n for n, c in enumerate(plain) if not _INVISIBLE.match(c)]
            plain = "".join([plain[n] for n in self._places])
        self.plain = plain

    def find(self, kind: str, start: int, end: int, score: float) -> Finding:
        """Return a finding at a place in the plain text."""
        if self._places is not None:
            start, end = self._places[start], self._places[end - 1] + 1
        return Finding(kind, start, end, score)

    def has_cue(self, cues: re.Pattern[str], start: int, end: int, *, after: int = AFTER) -> bool:
        """True when a word beside the place says what stands there."""
        if cues.search(self.plain[max(0, start - BEFORE) : start]):
            return True
        return bool(after and cues.search(self.plain[end : end + after]))

    def is_other_number(self, start: int) -> bool:
        """True when the words right before the place say that it is no personal number."""
        return bool(_OTHER_NUMBER.search(self.plain[max(0, start - 28) : start]))


# texts, languages → what is found. An empty set of languages means all of them.
Recogniser = Callable[[Text, frozenset[str]], Iterator[Finding]]


# Before and after whole words, of which patterns have one or another.
WORD_START = r"(?<!\w)(?:"
WORD_END = r")(?!\w)"
# Before and after what is not a part of a longer number or word.
NUMBER_START = r"(?<!\w)(?<!\d[-.,/])(?:"
NUMBER_END = r")(?!\w)(?![-.,/]\d)"

# Numbers that people are not known by: of orders, invoices, tickets, parts, versions.
_OTHER_NUMBER = re.compile(
    r"(?<!\w)(?:(?!tele|phone|handy|mobil|gsm|fax|ruf|bsn|burger|sofi)\w{3,}nummer|orders?|bestel\w*|bestell\w*|auftrags?\w*|commande|pedidos?|ordin[ei]|encomenda"
    r"|invoice|factu\w+|rechnungs?\w*|fattura|fatura|receipt|ticket|vorgang\w*|zaak\w*|dossier\w*"
    r"|case|issue|bug|commit|build|version|versie|versi[oó]n|versione|vers[aã]o|release|firmware"
    r"|artik\w+|article|art[ií]culo|articolo|artigo|part|sku|ean|isbn|issn|serial|serie\w*|seriale"
    r"|s[eé]rie|tracking|pakket\w*|paket\w*|colis|paquete|pacco|reference|referentie\w*|referenz\w*"
    r"|r[eé]f[eé]rence|referencia|riferimento|refer[eê]ncia|chassis|batch|lot|model\w*|room|flight)"
    r"(?:\s*(?:number|nummer|num[eé]ro|n[uú]mero|id|code|codice|c[oó]digo|no|nr|n)\b\.?)?"
    r"(?:\s+(?:is|ist|est|es|è|é|was|de|del|di|do))?\s*[:#°ºo.]*\s*(?:[A-Z]{1,4}-?)?$",
    re.IGNORECASE,
)
