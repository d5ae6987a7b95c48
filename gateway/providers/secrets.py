"""What of a request must never be quoted, and cutting it out of what a provider says.

Providers quote requests: the credential whole, cut short, or in another spelling. So not only the
secret itself is cut out of their texts, but every piece of it that has MIN_PIECE_CHARS or more, as
it is, in base64, hexadecimal, or escaped for a URL or JSON; letters count in either case.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from functools import lru_cache
from string import ascii_lowercase, ascii_uppercase
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit

from gateway.providers.base import UpstreamRequest

MIN_PIECE_CHARS = 8
# Shorter ones are words of any text, and give nothing away.
MIN_SECRET_CHARS = 4
HIDDEN = "…"
# Fields that say nothing that callers could not know. Whatever else is sent may be a secret.
OPEN_FIELDS = frozenset(
    {"accept", "accept-encoding", "content-type", "host", "user-agent", "x-request-id"}
)
SCHEMES = frozenset({"basic", "bearer", "digest", "key", "token"})
_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)


def secrets_of(request: UpstreamRequest) -> tuple[bytes, ...]:
    """Return the values of all fields but OPEN_FIELDS, without their schemes, and of the query.

    Of Basic credentials the name and the password, too.
    """
    found: list[str] = list(request.hidden)
    for name, value in request.headers.items():
        if name.lower() not in OPEN_FIELDS:
            words = value.split()
            found += [word for word in words if word.lower() not in SCHEMES] + _read_basic(value)
    parts = urlsplit(request.url)
    found += [value for _, value in parse_qsl(parts.query, max_num_fields=100)]
    found += [unquote(text) for text in (parts.username, parts.password) if text]
    return tuple(text.encode() for text in dict.fromkeys(found) if len(text) >= MIN_SECRET_CHARS)


def _read_basic(value: str) -> list[str]:
    scheme, _, rest = value.partition(" ")
    if scheme.lower() != "basic":
        return []
    try:
        pair = base64.b64decode(rest, validate=True).decode()
    except (binascii.Error, ValueError):
        return []
    return [pair, *pair.split(":", 1)]


def conceal(text: str, secrets: tuple[bytes, ...]) -> str:
    """Return the text with HIDDEN in place of every piece of a secret. Time goes by its length."""
    pieces, short = _read_pieces(secrets)
    seen = text.translate(_LOWER)
    spans = [
        (start, start + MIN_PIECE_CHARS)
        for start in range(len(seen) - MIN_PIECE_CHARS + 1)
        if seen[start : start + MIN_PIECE_CHARS] in pieces
    ]
    for spelling in short:
        start = seen.find(spelling)
        while start >= 0:
            spans.append((start, start + len(spelling)))
            start = seen.find(spelling, start + 1)
    return _cut_out(text, sorted(spans)) if spans else text


@lru_cache(maxsize=64)
def _read_pieces(secrets: tuple[bytes, ...]) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the pieces of all spellings, and the spellings that are shorter than a piece."""
    spellings = {spelling for secret in secrets for spelling in _spell(secret)}
    pieces = frozenset(
        spelling[start : start + MIN_PIECE_CHARS]
        for spelling in spellings
        for start in range(len(spelling) - MIN_PIECE_CHARS + 1)
    )
    return pieces, tuple(way for way in spellings if len(way) < MIN_PIECE_CHARS)


def _cut_out(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """Return the text without the spans, which may overlap."""
    parts: list[str] = []
    done = 0
    for start, end in spans:
        if start > done or not parts:
            parts.append(text[done:start] + HIDDEN)
        done = max(done, end)
    return "".join(parts) + text[done:]


def _spell(secret: bytes) -> set[str]:
    """Return the ways in which a secret may be written, in lower case."""
    text = secret.decode(errors="replace")
    ways = {text, quote(text, safe=""), quote_plus(text), quote(text), json.dumps(text)[1:-1]}
    ways |= {text.replace("/", "\\/"), secret.hex()}
    # Inside of something longer it may begin at any of three places of a group.
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + secret).decode()
        # What the bytes around it have a part in may be anything.
        inner = encoded[(before * 8 + 5) // 6 :].rstrip("=")
        inner = inner[:-1] if (before + len(secret)) % 3 else inner
        ways |= {inner, inner.replace("+", "-").replace("/", "_")}
    return {way.translate(_LOWER) for way in ways if len(way) >= MIN_SECRET_CHARS}
