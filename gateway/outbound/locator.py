"""The addresses (URLs) that files may be fetched from, as far as the text alone decides it.

Strict on purpose: what two parsers could read in two ways is refused, not repaired.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import SplitResult, urljoin, urlsplit

from yarl import URL

from gateway.outbound.permitted_addresses import Address, Network, is_public, may_connect

MAX_URL_CHARS = 8_192
INSIDE = "The URL is not public."
PORTS = {"http": 80, "https": 443}
_NO_URL = re.compile(r"[\x00-\x20\x7f\\]")
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")


class BadAddress(ValueError):
    """Nothing is fetched from there. The message says why, and may be shown to the caller."""


class NotPublic(BadAddress):
    """The host is an address that nobody is connected to, or not at this port."""


def read_locator(text: str, allowed: Sequence[Network]) -> URL:
    """Return the address as our client takes it. Raises BadAddress.

    A host that is an IP address is judged here; a name has yet to be resolved.
    """
    if len(text) > MAX_URL_CHARS or _NO_URL.search(text):
        raise BadAddress("The URL is too long or has invalid characters.")
    try:
        parts = urlsplit(text)
        port = parts.port or PORTS.get(parts.scheme, 0)
        host = read_host(parts)
        # Taken as it is where it can be: addresses are signed, and a signature is of every letter.
        url = URL(text, encoded=text.isascii())
        seen_alike = (url.scheme, url.port) == (parts.scheme, port) and is_same(url, host)
    except BadAddress:
        raise
    except ValueError:
        raise BadAddress("The URL is not valid.") from None
    if parts.scheme not in PORTS:
        raise BadAddress("The URL must begin with https:// or http://.")
    if parts.port == 0 or not seen_alike:
        raise BadAddress("The URL is not valid.")
    if not isinstance(host, str) and not may_connect(host, port, allowed):
        raise NotPublic("This URL cannot be fetched.")
    return url.with_fragment(None)


def read_url_host(text: str) -> str:
    """Return the host of an address that somebody else will read, too. Raises BadAddress for one
    with two readings."""
    return str(_read_checked_host(text))


def _read_checked_host(text: str) -> str | Address:
    if len(text) > MAX_URL_CHARS or _NO_URL.search(text):
        raise BadAddress("The URL is too long or has invalid characters.")
    try:
        return read_host(urlsplit(text))
    except BadAddress:
        raise
    except ValueError:
        raise BadAddress("The URL is not valid.") from None


def read_media_host(text: str, allowed: Sequence[Network]) -> str:
    """Return the name of the host, which has yet to be resolved, or nothing for a public address.

    Raises BadAddress for an address that is not public, and for a host with two readings.
    """
    host = _read_checked_host(text)
    if isinstance(host, str):
        return host
    if not (is_public(host) or any(host in network for network in allowed)):
        raise BadAddress(INSIDE)
    return ""


def read_host(parts: SplitResult) -> str | Address:
    """Return the host: an IP address in its usual form, or a name in ASCII and lower case.

    Raises BadAddress for a user's name before it, other ways to write a number, and other names.
    """
    if "@" in parts.netloc:
        raise BadAddress("The URL must not contain a user name.")
    host = parts.hostname or ""
    if "[" in parts.netloc:
        return _refuse_host() if "%" in host else IPv6Address(host)
    labels = host.removesuffix(".").split(".")
    if _NUMBER.fullmatch(labels[-1]):
        # Octal, hexadecimal, with fewer than four parts: whoever reads that reads it differently.
        address = ip_address(host)
        return address if isinstance(address, IPv4Address) else _refuse_host()
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        _refuse_host()
    return host


def is_same(url: URL, host: str | Address) -> bool:
    """True when our client, which reads the text again, sees the same host."""
    seen = (url.raw_host or "").lower()
    return seen == host if isinstance(host, str) else ip_address(seen) == host


def next_locator(url: URL, location: str, allowed: Sequence[Network]) -> URL:
    """Return where a redirect leads, checked like any address. Raises BadAddress, as for one that
    leads from https to http: whoever reads along would see what was asked for in private."""
    if _NO_URL.search(location):
        raise BadAddress("The URL is not valid.")
    try:
        text = urljoin(str(url), location)
    except ValueError:
        raise BadAddress("The URL is not valid.") from None
    found = read_locator(text, allowed)
    if url.scheme == "https" and found.scheme != "https":
        raise BadAddress("A redirect from https:// to http:// is not followed.")
    return found


def _refuse_host() -> str:
    raise BadAddress("The host of the URL is not valid.")
