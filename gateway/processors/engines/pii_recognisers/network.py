"""IP addresses and hardware addresses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address

from gateway.processors.engines.pii_recognisers.text import WORD_END, WORD_START, Finding, Text

_V4 = re.compile(r"(?<![\w.])(?<!\d[,/-])(?:\d{1,3}\.){3}\d{1,3}(?!\w)(?!\.\d)")
_V6 = re.compile(
    r"(?<![\w:.])(?:[0-9A-Fa-f]{0,4}:){2,7}(?:[0-9A-Fa-f]{1,4}|(?:\d{1,3}\.){3}\d{1,3})?(?![\w:])"
)
_MAC = re.compile(r"(?<![\w:-])[0-9A-Fa-f]{2}([:-])(?:[0-9A-Fa-f]{2}\1){4}[0-9A-Fa-f]{2}(?![\w:-])")
_CUES = re.compile(
    WORD_START + (r"ip(?:v[46])?|ip-\w+|address\w*|adres\w*|host\w*|server|login") + WORD_END,
    re.IGNORECASE,
)
# No number of a version, a section or a net mask is anybody's address.
_VERSION = re.compile(
    r"(?:(?<!\w)v|versi\w*|vers[aã]o|release|build|firmware|driver|sdk|chapter|section|kapitel"
    r"|paragra\w*|abschnitt|cap[ií]tulo|apartado|secci[oó]n|sec[cç][aã]o|sezione|§|netmask|oid|==)"
    r"\W{0,3}$",
    re.IGNORECASE,
)


def find_addresses(text: Text, languages: frozenset[str]) -> Iterator[Finding]:
    for match in _V4.finditer(text.plain):
        address = _read(match[0])
        if address is not None:
            score = _score(text, match.start(), match.end(), address)
            yield text.find("IP_ADDRESS", match.start(), match.end(), score)
    if text.plain.count(":") < 2:
        return
    for match in _V6.finditer(text.plain):
        address = _read(match[0])
        # a::b is as well a name of C++ or Rust.
        if address is not None and (match[0].count(":") > 2 or re.search(r"\d", match[0])):
            score = 0.4 if address.is_loopback or address.is_unspecified else 0.95
            yield text.find("IP_ADDRESS", match.start(), match.end(), score)


def find_hardware_addresses(text: Text, languages: frozenset[str]) -> Iterator[Finding]:
    for match in _MAC.finditer(text.plain):
        yield text.find("MAC_ADDRESS", match.start(), match.end(), 0.9)


def _read(written: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(written)
    except ValueError:
        return None


def _score(text: Text, start: int, end: int, address: IPv4Address | IPv6Address) -> float:
    before = text.plain[max(0, start - 16) : start]
    is_nobodys = address.is_loopback or address.is_unspecified or address.is_multicast
    if is_nobodys or str(address).startswith("255."):
        return 0.4
    if _VERSION.search(before) and not text.has_cue(_CUES, start, end, after=0):
        return 0.3
    return 0.95 if text.has_cue(_CUES, start, end) else 0.8
