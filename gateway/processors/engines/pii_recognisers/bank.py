"""IBANs and payment cards."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gateway.processors.engines.pii_recognisers.checksums import luhn, mod_97
from gateway.processors.engines.pii_recognisers.text import WORD_END, WORD_START, Finding, Text

# The length of each country's IBAN (the registry of ISO 13616).
_LENGTHS = {
    "AD": 24, "AE": 23, "AL": 28, "AT": 20, "AZ": 28, "BA": 20, "BE": 16, "BG": 22, "BH": 22,
    "BR": 29, "BY": 28, "CH": 21, "CR": 22, "CY": 28, "CZ": 24, "DE": 22, "DK": 18, "DO": 28,
    "EE": 20, "EG": 29, "ES": 24, "FI": 18, "FO": 18, "FR": 27, "GB": 22, "GE": 22, "GI": 23,
    "GL": 18, "GR": 27, "GT": 28, "HR": 21, "HU": 28, "IE": 22, "IL": 23, "IQ": 23, "IS": 26,
    "IT": 27, "JO": 30, "KW": 30, "KZ": 20, "LB": 28, "LC": 32, "LI": 21, "LT": 20, "LU": 20,
    "LV": 21, "LY": 25, "MC": 27, "MD": 24, "ME": 22, "MK": 19, "MR": 27, "MT": 31, "MU": 30,
    "NL": 18, "NO": 15, "PK": 24, "PL": 28, "PS": 29, "PT": 25, "QA": 29, "RO": 24, "RS": 22,
    "SA": 24, "SC": 31, "SE": 24, "SI": 19, "SK": 24, "SM": 27, "ST": 25, "SV": 28, "TL": 23,
    "TN": 24, "TR": 26, "UA": 29, "VA": 22, "VG": 24, "XK": 20,
}  # fmt: skip
_IBAN = re.compile(r"(?<![A-Za-z0-9])([A-Za-z]{2})[ -]?\d{2}(?=[ -]?[A-Za-z0-9])")
# Of the first digits of cards, those that any scheme uses.
_CARD = re.compile(
    r"(?<!\w)(?<!\d[-.,/ ])(?:2[2-7]|3[0-9]|4\d|5[0-8]|6\d)\d\d(?:[ -]?\d){9,15}(?!\w)(?![-.,/]\d)"
)
_CARD_CUES = re.compile(
    WORD_START
    + (
        r"(?:credit|debit|bank)?cards?|\w*kaart\w*|\w*karte\w*|carte|carta|tarjeta|cart[aã]o|visa"
        "|mastercard|amex|american express|cvc|cvv"
    )
    + WORD_END,
    re.IGNORECASE,
)
_GROUPED = re.compile(r"\d{4}([ -])(?:\d{4}\1\d{4}\1\d{1,7}|\d{6}\1\d{4,5})")


def find_ibans(text: Text, languages: frozenset[str]) -> Iterator[Finding]:
    plain = text.plain
    for match in _IBAN.finditer(plain):
        length = _LENGTHS.get(match[1].upper())
        if length is None:
            continue
        number, end = _take(plain, match.start(), length)
        if len(number) == length and mod_97(number.upper()):
            yield text.find("IBAN_CODE", match.start(), end, 1.0)


def _take(plain: str, start: int, length: int) -> tuple[str, int]:
    """Return so many letters and digits from a place on, single spaces and hyphens left out, and
    where they end. Fewer when something else comes between or the word goes on."""
    taken: list[str] = []
    place = start
    while place < len(plain) and len(taken) < length:
        character = plain[place]
        if character.isascii() and character.isalnum():
            taken.append(character)
        elif character not in " -" or plain[place - 1] in " -":
            break
        place += 1
    goes_on = place < len(plain) and plain[place].isalnum()
    return ("" if goes_on else "".join(taken)), place


def find_cards(text: Text, languages: frozenset[str]) -> Iterator[Finding]:
    for match in _CARD.finditer(text.plain):
        digits = re.sub(r"[ -]", "", match[0])
        if not luhn(digits) or len(set(digits)) == 1:
            continue
        score = 1.0 if _GROUPED.fullmatch(match[0]) else 0.9
        is_named = text.has_cue(_CARD_CUES, match.start(), match.end())
        if not is_named and text.is_other_number(match.start()):
            score = 0.6
        yield text.find("CREDIT_CARD", match.start(), match.end(), score)
