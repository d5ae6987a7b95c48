"""Names of persons by what can be told without a model: titles, introductions, given names, and the
names in argus-redact's lists.

argus-redact detects and replaces. Its replacing masks some kinds for good, so only its places are
taken. It takes "I" and "we", beliefs and illnesses for personal data too: KINDS names what we take.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import argus_redact

from gateway.processors.engines.pii_recognisers.given_names import GIVEN_NAMES
from gateway.processors.engines.pii_recognisers.text import WORD_END, WORD_START, Finding, Text

KINDS = {
    "person": "PERSON",
    "address": "LOCATION",
}
# A name that its lists do not have whole gets less: in other languages many nouns are also names.
_CERTAIN = 1.0
# It refuses texts that are longer than 1,048,576 characters.
_MOST_CHARS = 200_000

_CAPITAL = r"[A-ZÀ-ÖØ-ÞŁŚŠŽČ][\w']*[a-zß-öø-ÿłśšžč][\w']*(?:-[A-ZÀ-ÖØ-Þ]\w+)*"
_INITIALS = r"(?:[A-Z]\.[ -]?){1,4}"
_PARTICLE = (
    r"(?:van|de|der|den|het|'t|ten|ter|te|von|zu|zum|zur|vom|la|le|les|du|des|del|della|di|da|das|do"
    r"|dos|el|y|e|al|ben|bin|Van|De|Der|Von|La|Le|Di|Da|Del)"
)
_SURNAME = rf"(?:(?:{_PARTICLE} ){{0,3}}(?:d')?{_CAPITAL})"
_NAME = rf"(?:{_CAPITAL}|{_INITIALS})(?: ?{_INITIALS})?(?: {_SURNAME}){{0,3}}"

# Those that are also other words are titles with a capital alone.
_TITLES = (
    r"(?i:mr|mrs|ms|miss|mx|madam|dr|drs|dra|prof|professor|dhr|mevr|mw|meneer|mevrouw|de heer"
    r"|herrn?"
    r"|frau|mme|mlle|monsieur|madame|mademoiselle|sr|sra|srta|se[ñn]or(?:a|ita)?|do[nñ]a|dña"
    r"|sig(?:\.ra|\.na)?|signor(?:a|e|ina)?|dott(?:\.ssa|oressa)?|avv|senhora?|doutora?|doktor|docteur)"
    r"|Sir|Ir|Hr|Fr|Me|Don|D|Ing|Dona|Pfarrer|Captain|Judge|Rev|Patient(?:in)?|Kund(?:e|in)|Client"
)
_TITLED = re.compile(rf"(?<!\w)(?:{_TITLES})\b\.? (?:(?:Dr|Prof)\.? )?(?P<name>{_NAME}|{_SURNAME})")
_FRENCH_M = re.compile(rf"(?<!\w)M\. (?P<name>{_NAME})")
# What says outright that a name follows.
_INTRODUCED = re.compile(
    r"(?i:(?<!\w)(?:my name is|name\s?:|named|mijn naam is|ik heet|heet|naam\s?:|genaamd"
    r"|mein name ist"
    r"|ich hei(?:ß|ss)e|hei(?:ß|ss)t|je m'appelle|s'appelle|nom\s?:|mon nom est|me llamo|se llama"
    r"|mi nombre es|nombre\s?:|mi chiamo|si chiama|nome\s?:|il mio nome è|chamo-me|me chamo"
    r"|chama-se"
    r"|o meu nome é|meu nome é|kind regards,|best regards,|regards,|sincerely,|groeten?,|groet,"
    r"|(?:mit )?freundliche[nr]? gr[uü](?:ß|ss)en?,?|cordialement,|saludos,|cordiali saluti,"
    r"|cumprimentos,|patient\s?:|customer\s?:|klant\s?:|kunde\s?:|client\s?:|cliente\s?:))"
    rf"\s+(?P<name>{_NAME})"
)
_WORD = re.compile(rf"(?<![\w.@/-]){_CAPITAL}(?![\w@/])")
_REST = re.compile(rf"(?: {_INITIALS})?(?: {_SURNAME}){{1,3}}")
# Given names that are also months, coins, places or other words with a capital.
_OTHER_WORDS = frozenset(
    {"Jan", "Mark", "Max", "Florence", "Charlotte", "Victoria", "Mercedes", "Pilar", "Dolores"}
    | {"Sofia", "Kim", "Robin", "Otto", "Angelo", "Amber", "Rosa", "Viola", "Clara", "Alexandria"}
    | {"Leon", "Norma", "Iris", "Bianca", "Julia", "Wanda", "Andrea"}
)
# What begins with a given name and is no person.
_NOT_A_SURNAME = re.compile(
    WORD_START
    + (
        "street|road|avenue|university|hospital|school|college|airport|inc|ltd|gmbh|bv|ag|sa|cup"
        "|award|monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march"
        "|april|may|june|july|august|september|october|november|december|museum|platz|straße|plein"
        "|bank|group"
    )
    + WORD_END,
    re.IGNORECASE,
)


def find_names(text: Text, languages: frozenset[str]) -> Iterator[Finding]:
    plain = text.plain
    for pattern, score in ((_TITLED, 0.9), (_FRENCH_M, 0.85), (_INTRODUCED, 0.85)):
        for match in pattern.finditer(plain):
            yield text.find("PERSON", match.start("name"), match.end("name"), score)
    yield from _find_given_names(text)


def _find_given_names(text: Text) -> Iterator[Finding]:
    """Yield what begins with a given name, with the names after it."""
    end = 0
    for match in _WORD.finditer(text.plain):
        given = match[0].split("-")[0]
        if match.start() < end or given not in GIVEN_NAMES:
            continue
        end = match.end()
        rest = _REST.match(text.plain, end)
        if rest is not None and not _NOT_A_SURNAME.search(rest[0]):
            end = rest.end()
            yield text.find("PERSON", match.start(), end, 0.8)
        else:
            score = 0.5 if given in _OTHER_WORDS else 0.7
            yield text.find("PERSON", match.start(), end, score)


def find_by_argus(text: Text, languages: frozenset[str]) -> Iterator[Finding]:
    """Its names of persons are English; in texts in other languages only whole names are taken."""
    is_english = not languages or "en" in languages
    for offset in range(0, len(text.plain), _MOST_CHARS):
        report = argus_redact.redact(
            text.plain[offset : offset + _MOST_CHARS], lang="en", mode="fast", report=True
        )
        for entity in report.entities:
            kind = KINDS.get(entity["type"])
            if kind is None or (kind == "LOCATION" and not is_english):
                continue
            score = min(float(entity["confidence"]), 0.85)
            if kind == "PERSON" and not is_english and entity["confidence"] < _CERTAIN:
                score = 0.5
            start, end = offset + entity["start"], offset + entity["end"]
            yield text.find(kind, start, end, score)
