"""Numbers of travel documents and identity cards, and dates of birth: where a word names them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gateway.processors.engines.pii_recognisers.text import WORD_END, WORD_START, Finding, Text

_PASSPORT_CUES = re.compile(
    WORD_START
    + (r"passports?|paspoort\w*|reisepass\w*|passnummer|passeport|pasaporte|passaporto|passaporte")
    + WORD_END,
    re.IGNORECASE,
)
_CARD_CUES = re.compile(
    WORD_START
    + (
        r"id(?:entity)?[- ]cards?|identiteitskaart\w*|id-kaart|personalausweis\w*"
        "|carte (?:nationale )?d'identit[eé]|cni|carta d'identit[aà]|documento de identidad"
        r"|bilhete de identidade|driv(?:ing|er'?s) licen[cs]e|rijbewijs\w*|f[uü]hrerschein\w*"
        "|permis de conduire|permiso de conducir|patente di guida|carta de condu[cç][aã]o"
    )
    + WORD_END,
    re.IGNORECASE,
)
_DOCUMENT = re.compile(r"(?<![\w])(?=[A-Z0-9]*\d)[A-Z0-9]{7,16}(?![\w])(?![.,]\d)")

_MONTHS = (
    r"jan\w*|feb\w*|f[eé]v\w*|m[aä]r\w*|maart|mrt|ma[rçiy]\w*|apr\w*|avr\w*|abr\w*|mei|may|mag\w*"
    r"|ju[nlin]\w*|giu\w*|lug\w*|aug\w*|ao[uû]t|ago\w*|sep\w*|set\w*|o[ckt]t?\w*|out\w*|nov\w*"
    r"|de[czs]\w*|d[eé]c\w*|dic\w*|dez\w*|gen\w*|ene\w*|januar\w*"
)
_DATE = re.compile(
    r"(?<![\w/.-])(?:\d{1,2}[-./ ]{1,2}\d{1,2}[-./ ]{1,2}(?:19|20)?\d{2}|(?:19"
    r"|20)\d{2}[-./]\d{1,2}[-./]\d{1,2}"
    rf"|\d{{1,2}}(?:st|nd|rd|th|er|[°ºª.])?(?: de| of)? (?:{_MONTHS})\.?,?(?: de| del)? (?:19"
    rf"|20)\d{{2}}"
    rf"|(?:{_MONTHS})\.? \d{{1,2}}(?:st|nd|rd|th)?,? (?:19|20)\d{{2}})(?!\w)(?![/-]\d)",
    re.IGNORECASE,
)
_BIRTH_CUES = re.compile(
    WORD_START
    + (
        r"born(?: on)?|d\.?o\.?b\.?|date of birth|birth ?da(?:y|te)|geb\.?|geboren\w*|geboorte\w*"
        r"|verjaardag|geburt\w*|n[eé]e? le|n[eé]e?\(?e?\)?|naissance|anniversaire|nacid[oa]s?"
        "|nacimiento|naci[oó]|cumpleaños|nat[oa](?: il)?|nascita|compleanno|nascid[oa]|nascimento"
        "|nasc(?:i|eu)|anivers[aá]rio"
    )
    + WORD_END,
    re.IGNORECASE,
)


def find_documents(text: Text, languages: frozenset[str]) -> Iterator[Finding]:
    for match in _DOCUMENT.finditer(text.plain):
        before = text.plain[max(0, match.start() - 40) : match.start()]
        if _PASSPORT_CUES.search(before):
            yield text.find("PASSPORT", match.start(), match.end(), 0.9)
        elif _CARD_CUES.search(before):
            yield text.find("ID_CARD", match.start(), match.end(), 0.85)


def find_birth_dates(text: Text, languages: frozenset[str]) -> Iterator[Finding]:
    for match in _DATE.finditer(text.plain):
        if text.has_cue(_BIRTH_CUES, match.start(), match.end(), after=14):
            yield text.find("DATE_OF_BIRTH", match.start(), match.end(), 0.9)
