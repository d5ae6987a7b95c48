"""Numbers that states know people by, each with its form and its check digit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from msgspec import Struct

from gateway.processors.engines.pii_recognisers import checksums
from gateway.processors.engines.pii_recognisers.text import (
    NUMBER_END,
    NUMBER_START,
    WORD_END,
    WORD_START,
    Finding,
    Text,
)

# What stands beside a word that names it.
NAMED = 0.95
# What stands after a word that names something else.
OTHER = 0.3
_NOT_ALNUM = re.compile(r"[^A-Z0-9]")


class IdNumber(Struct, frozen=True, kw_only=True):
    """A kind of number."""

    type: str
    pattern: re.Pattern[str]
    # Of the number without spaces and signs, in capitals.
    is_valid: Callable[[str], bool]
    # Words that name it.
    cues: re.Pattern[str]
    # Where it is at home.
    languages: frozenset[str]
    # Without such a word: in a text of one of its languages, and in any other.
    score: float
    score_abroad: float


def _of(*languages: str) -> frozenset[str]:
    return frozenset(languages)


ID_NUMBERS = (
    IdNumber(
        type="NL_BSN",
        pattern=re.compile(
            NUMBER_START + (r"\d{9}|\d{3}([ .])\d{3}\1\d{3}|\d{4}[ .]\d{2}[ .]\d{3}") + NUMBER_END,
            re.IGNORECASE,
        ),
        is_valid=checksums.nl_bsn,
        cues=re.compile(
            WORD_START
            + ("bsn(?:-?nummer)?|burgerservice-?nummer|sofi-?nummer|citizen service number")
            + WORD_END,
            re.IGNORECASE,
        ),
        languages=_of("nl"),
        score=0.75,
        score_abroad=0.5,
    ),
    IdNumber(
        type="US_SSN",
        pattern=re.compile(
            NUMBER_START + (r"\d{3}-\d{2}-\d{4}|\d{3} \d{2} \d{4}") + NUMBER_END, re.IGNORECASE
        ),
        is_valid=checksums.us_ssn,
        cues=re.compile(
            WORD_START + ("ssn|social(?: security)?|soc sec|seguro social") + WORD_END,
            re.IGNORECASE,
        ),
        languages=_of("en"),
        score=0.85,
        score_abroad=0.75,
    ),
    IdNumber(
        type="US_SSN",
        pattern=re.compile(NUMBER_START + (r"\d{9}") + NUMBER_END, re.IGNORECASE),
        is_valid=checksums.us_ssn,
        cues=re.compile(
            WORD_START + ("ssn|social security(?: number)?") + WORD_END,
            re.IGNORECASE,
        ),
        languages=_of("en"),
        score=0.2,
        score_abroad=0.2,
    ),
    IdNumber(
        type="US_ITIN",
        pattern=re.compile(
            NUMBER_START + (r"9\d{2}[- ]\d{2}[- ]\d{4}") + NUMBER_END, re.IGNORECASE
        ),
        is_valid=checksums.us_itin,
        cues=re.compile(
            WORD_START + (r"itin|tax(?:payer)? id\w*") + WORD_END,
            re.IGNORECASE,
        ),
        languages=_of("en"),
        score=0.85,
        score_abroad=0.75,
    ),
    IdNumber(
        type="UK_NHS",
        pattern=re.compile(
            NUMBER_START + (r"\d{3}([ -])\d{3}\1\d{4}|\d{10}") + NUMBER_END, re.IGNORECASE
        ),
        is_valid=checksums.uk_nhs,
        cues=re.compile(
            WORD_START + ("nhs|health service|patient(?: number| no)?") + WORD_END,
            re.IGNORECASE,
        ),
        languages=_of("en"),
        score=0.5,
        score_abroad=0.4,
    ),
    IdNumber(
        type="UK_NINO",
        pattern=re.compile(
            NUMBER_START
            + (r"[A-Z]{2} ?\d{2} ?\d{2} ?\d{2} ?[A-D]|[A-Z]{2}(?:-\d{2}){3}-[A-D]")
            + NUMBER_END,
            re.IGNORECASE,
        ),
        is_valid=checksums.uk_nino,
        cues=re.compile(
            WORD_START + ("nino|ni|national insurance") + WORD_END,
            re.IGNORECASE,
        ),
        languages=_of("en"),
        score=0.85,
        score_abroad=0.8,
    ),
    IdNumber(
        type="DE_TAX_ID",
        pattern=re.compile(
            NUMBER_START + (r"[1-9]\d{10}|[1-9]\d ?\d{3} ?\d{3} ?\d{3}") + NUMBER_END, re.IGNORECASE
        ),
        is_valid=checksums.de_tax_id,
        cues=re.compile(
            WORD_START + (r"steuer\W?\w*|idnr\.?|tin|tax id\w*|identifikationsnummer") + WORD_END,
            re.IGNORECASE,
        ),
        languages=_of("de"),
        score=0.8,
        score_abroad=0.6,
    ),
    IdNumber(
        type="DE_PENSION_NUMBER",
        pattern=re.compile(
            NUMBER_START + (r"\d{2} ?\d{6} ?[A-Z] ?\d{3}") + NUMBER_END, re.IGNORECASE
        ),
        is_valid=checksums.de_pension,
        cues=re.compile(
            WORD_START
            + (r"renten\w*|sozial\w*|sv-?nummer|svnr\.?|rvnr|versicherungsnummer")
            + WORD_END,
            re.IGNORECASE,
        ),
        languages=_of("de"),
        score=0.9,
        score_abroad=0.8,
    ),
    IdNumber(
        type="DE_ID_CARD",
        pattern=re.compile(
            NUMBER_START
            + (r"[CFGHJKLMNPRTVWXYZ](?=[A-Z0-9]*\d)[CFGHJKLMNPRTVWXYZ0-9]{8}\d")
            + NUMBER_END,
            re.IGNORECASE,
        ),
        is_valid=checksums.icao,
        cues=re.compile(
            WORD_START
            + (r"personalausweis\w*|ausweis\w*|perso|reisepass\w*|pass(?:nummer)?")
            + WORD_END,
            re.IGNORECASE,
        ),
        languages=_of("de"),
        score=0.6,
        score_abroad=0.4,
    ),
    IdNumber(
        type="FR_NIR",
        pattern=re.compile(
            NUMBER_START
            + (r"[12] ?\d{2} ?\d{2} ?(?:\d{2}|2[AB]) ?\d{3} ?\d{3} ?\d{2}")
            + NUMBER_END,
            re.IGNORECASE,
        ),
        is_valid=checksums.fr_nir,
        cues=re.compile(
            WORD_START + ("nir|s[eé]curit[eé] sociale|s[eé]cu|social security") + WORD_END,
            re.IGNORECASE,
        ),
        languages=_of("fr"),
        score=0.9,
        score_abroad=0.9,
    ),
    IdNumber(
        type="FR_TAX_NUMBER",
        pattern=re.compile(
            NUMBER_START + (r"[0-3]\d{12}|[0-3]\d ?\d{2} ?\d{3} ?\d{3} ?\d{3}") + NUMBER_END,
            re.IGNORECASE,
        ),
        is_valid=checksums.fr_tax_number,
        cues=re.compile(
            WORD_START + ("fiscal|spi|imp[oô]ts|r[eé]f[eé]rence fiscale") + WORD_END,
            re.IGNORECASE,
        ),
        languages=_of("fr"),
        score=0.75,
        score_abroad=0.5,
    ),
    IdNumber(
        type="ES_NIF",
        pattern=re.compile(
            NUMBER_START + (r"\d{8}[- ]?[A-Z]|\d{2}\.\d{3}\.\d{3}[- ]?[A-Z]") + NUMBER_END,
            re.IGNORECASE,
        ),
        is_valid=checksums.es_nif,
        cues=re.compile(
            WORD_START + ("dni|nif|documento nacional|identidad") + WORD_END,
            re.IGNORECASE,
        ),
        languages=_of("es"),
        score=0.85,
        score_abroad=0.75,
    ),
    IdNumber(
        type="ES_NIE",
        pattern=re.compile(
            NUMBER_START + (r"[XYZ][- ]?\d{7}[- ]?[A-Z]") + NUMBER_END, re.IGNORECASE
        ),
        is_valid=checksums.es_nif,
        cues=re.compile(
            WORD_START + ("nie|extranjero") + WORD_END,
            re.IGNORECASE,
        ),
        languages=_of("es"),
        score=0.9,
        score_abroad=0.8,
    ),
    IdNumber(
        type="ES_SOCIAL_SECURITY",
        pattern=re.compile(
            NUMBER_START + (r"\d{2}([ /-]?)\d{8}\1\d{2}") + NUMBER_END, re.IGNORECASE
        ),
        is_valid=checksums.es_social_security,
        cues=re.compile(
            WORD_START + ("seguridad social|afiliaci[oó]n|nuss|naf|nss") + WORD_END,
            re.IGNORECASE,
        ),
        languages=_of("es"),
        score=0.75,
        score_abroad=0.5,
    ),
    IdNumber(
        type="IT_FISCAL_CODE",
        pattern=re.compile(
            NUMBER_START
            + (
                r"[A-Z]{6} ?[0-9LMNP-V]{2}[ABCDEHLMPRST][0-9LMNP-V]{2} ?[A-Z][0-9LMNP-V]{3}[A-Z]"
                r"|[A-Z]{3} [A-Z]{3} [0-9LMNP-V]{2}[ABCDEHLMPRST][0-9LMNP-V]{2} [A-Z][0-9LMNP-V]{3}"
                r"[A-Z]"
            )
            + NUMBER_END,
            re.IGNORECASE,
        ),
        is_valid=checksums.it_fiscal_code,
        cues=re.compile(
            WORD_START + (r"codice fiscale|c\.?f\.?|fiscal code") + WORD_END,
            re.IGNORECASE,
        ),
        languages=_of("it"),
        score=0.95,
        score_abroad=0.95,
    ),
    IdNumber(
        type="PT_NIF",
        pattern=re.compile(
            NUMBER_START + (r"\d{9}|\d{3}([ .])\d{3}\1\d{3}") + NUMBER_END, re.IGNORECASE
        ),
        is_valid=checksums.pt_nif,
        cues=re.compile(
            WORD_START + ("nif|contribuinte|identifica[cç][aã]o fiscal|finanças") + WORD_END,
            re.IGNORECASE,
        ),
        languages=_of("pt"),
        score=0.75,
        score_abroad=0.4,
    ),
    IdNumber(
        type="PT_CITIZEN_CARD",
        pattern=re.compile(
            NUMBER_START + (r"\d{8}[ -]?\d ?[A-Z0-9]{2}\d") + NUMBER_END, re.IGNORECASE
        ),
        is_valid=checksums.pt_citizen_card,
        cues=re.compile(
            WORD_START + ("cart[aã]o de cidad[aã]o|cc|cidadão") + WORD_END,
            re.IGNORECASE,
        ),
        languages=_of("pt"),
        score=0.75,
        score_abroad=0.5,
    ),
    IdNumber(
        type="BR_CPF",
        pattern=re.compile(
            NUMBER_START + (r"\d{3}\.\d{3}\.\d{3}-\d{2}|\d{11}") + NUMBER_END, re.IGNORECASE
        ),
        is_valid=checksums.br_cpf,
        cues=re.compile(
            WORD_START + ("cpf") + WORD_END,
            re.IGNORECASE,
        ),
        languages=_of("pt"),
        score=0.85,
        score_abroad=0.5,
    ),
)


def find_national_ids(text: Text, languages: frozenset[str]) -> Iterator[Finding]:
    for kind in ID_NUMBERS:
        is_home = not languages or bool(kind.languages & languages)
        for match in kind.pattern.finditer(text.plain):
            number = _NOT_ALNUM.sub("", match[0].upper())
            if kind.is_valid(number):
                score = _score(text, kind, match, is_home=is_home)
                yield text.find(kind.type, match.start(), match.end(), score)


def _score(text: Text, kind: IdNumber, match: re.Match[str], *, is_home: bool) -> float:
    if text.has_cue(kind.cues, match.start(), match.end()):
        return NAMED
    # Letters in it make it a number of nothing else.
    if match[0].strip().isdigit() and text.is_other_number(match.start()):
        return OTHER
    return kind.score if is_home else kind.score_abroad
