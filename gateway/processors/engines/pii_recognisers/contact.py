"""E-mail addresses, telephone numbers and URLs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from phonenumbers import Leniency, PhoneNumberMatcher

from gateway.processors.engines.pii_recognisers.text import WORD_END, WORD_START, Finding, Text

_EMAIL = re.compile(
    r"(?<![\w.%+-])[\w%+'-]{1,64}(?:\.[\w%+'-]{1,64}){0,8}@"
    r"(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.){1,8}[^\W\d_]{2,24}(?![\w-])"
)
_URL = re.compile(r"(?<![\w@])(?:https?://|ftp://|www\.)[^\s<>\"'`{}|\\^]{3,2000}", re.IGNORECASE)
# What leads to a person: sign-in names, pages of persons, and what a form has sent.
_PERSONAL = re.compile(
    r"//[^/@]+@|[?&][\w-]*(?:mail|name|user|token|phone|uid|session|key|id)[\w-]*=|/~"
    r"|/(?:in|u|users?|profiles?|people|members?|account)/[\w.-]"
    r"|(?:facebook|instagram|linkedin|twitter|x|tiktok)\.com/[\w.-]",
    re.IGNORECASE,
)
_TRAILING = ".,;:!?)]*_"

# The countries in whose way numbers without +.. are written, by language.
_REGIONS = {
    "en": ("US", "GB"),
    "nl": ("NL", "BE"),
    "de": ("DE", "AT", "CH"),
    "fr": ("FR", "BE", "CH"),
    "es": ("ES", "MX"),
    "it": ("IT", "CH"),
    "pt": ("PT", "BR"),
}
_DIGITS = re.compile(r"[+(]?\d[\d ()./+-]{4,}\d")
_PHONE_CUES = re.compile(
    WORD_START
    + (
        r"(?:tele)?(?:ph|f)on\w*|tel\w{0,6}\.?|call\w*|mobile?\w*|cell\w*|fax|sms|whats\s?app"
        r"|reach(?: (?:me|us))?|text (?:me|us)|bel\w*|gsm|handy(?:nummer)?|ruf\w*|anruf\w*"
        r"|t[eé]l\w*\.?|appel\w*|joindre|portable|ll[aá]m\w*|m[oó]vil|contact\w*|cellulare|chiam\w*"
        r"|recapito|telem[oó]vel|lig\w{1,5}|celular|bereikbaar|erreichbar|nummer|number|dial|ring"
    )
    + WORD_END,
    re.IGNORECASE,
)
_DATE = re.compile(
    r"(?:\d{1,2}[-./]\d{1,2}[-./]\d{2,4}"
    r"|\d{4}[-./]\d{1,2}[-./]\d{1,2})(?:[ T]\d{1,2}(?:[:.]\d\d)*)?"
)
_ADDRESS = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}")
_NORTH_AMERICAN = re.compile(r"\(\d{3}\) ?\d{3}[- .]\d{4}|(\d{3})([-. ])\d{3}\2\d{4}")
# After one of these no telephone number begins or ends.
_GLUED = re.compile(r"[\w@#$€£%=_]")


def find_emails(text: Text, languages: frozenset[str]) -> Iterator[Finding]:
    if "@" not in text.plain:
        return
    for match in _EMAIL.finditer(text.plain):
        start = match.start() + (1 if match[0].startswith("'") else 0)
        yield text.find("EMAIL_ADDRESS", start, match.end(), 1.0)


def find_urls(text: Text, languages: frozenset[str]) -> Iterator[Finding]:
    for match in _URL.finditer(text.plain):
        end = match.start() + len(match[0].rstrip(_TRAILING))
        score = 0.8 if _PERSONAL.search(match[0]) else 0.5
        yield text.find("URL", match.start(), end, score)


def find_phones(text: Text, languages: frozenset[str]) -> Iterator[Finding]:
    known = languages & _REGIONS.keys() or _REGIONS.keys()
    regions = dict.fromkeys(region for one in sorted(known) for region in _REGIONS[one])
    for digits in _DIGITS.finditer(text.plain):
        found: dict[tuple[int, int], float] = {}
        for region in regions:
            for start, end in _numbers(digits[0], region):
                place = (digits.start() + start, digits.start() + end)
                if place not in found:
                    found[place] = _score(text, *place, region)
        yield from (
            text.find("PHONE_NUMBER", start, end, score)
            for (start, end), score in found.items()
            if score > 0
        )


def _numbers(digits: str, region: str) -> Iterator[tuple[int, int]]:
    """Yield where numbers stand that the region could have given out."""
    for match in PhoneNumberMatcher(digits, region, leniency=Leniency.VALID, max_tries=20):
        yield match.start, match.end


def _score(text: Text, start: int, end: int, region: str) -> float:
    """Return how likely a number is a telephone's."""
    plain = text.plain
    written = plain[start:end]
    if _DATE.fullmatch(written) or _ADDRESS.fullmatch(written):
        return 0
    beside = plain[max(0, start - 1) : start] + plain[end : end + 1]
    if _GLUED.search(beside):
        return 0
    if written.startswith(("+", "00")):
        return 0.95
    if text.has_cue(_PHONE_CUES, start, end) and not text.is_other_number(start):
        return 0.9
    if text.is_other_number(start):
        return 0.3
    return _unnamed(written, region)


def _unnamed(written: str, region: str) -> float:
    """Return the score of a number that no word names."""
    is_grouped = not written.isdigit()
    if region == "US":
        return 0.8 if _NORTH_AMERICAN.fullmatch(written) else 0.4
    if written.startswith(("0", "(0")):
        return 0.8 if is_grouped or region != "IT" else 0.5
    return 0.7 if is_grouped else 0.45
