"""Where a provider is: the base URL that operators enter, checked. The URLs that workspaces enter
for services of their own, checked. And the origin of any URL."""

from __future__ import annotations

import socket
from ipaddress import IPv4Address, ip_address
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError

from gateway.outbound.locator import BadAddress, NotPublic, read_locator
from gateway.outbound.permitted_addresses import (
    METADATA_NAMES,
    is_metadata,
    may_connect,
    read_networks,
)
from gateway.providers.catalogue import SIMULATED

URL_CHARS = 400
_SCHEMES = {"http", "https"}
PUBLIC_ONLY = (
    "Private addresses, and ports other than 80 and 443, are forbidden unless an operator allows"
    " the network (TOLLHOUSE_FETCH_ALLOWED_NETWORKS)."
)
_LOOPBACK = (ip_address("127.0.0.1"), ip_address("::1"))


def read_base_url(text: str, *, kind: str) -> str:
    """Return the URL without a slash at its end.

    http and https are taken, with a host and without user name, query or fragment; the built-in
    simulated kind has simulated:// instead. A link-local address, and one where a cloud tells a
    machine's credentials, is taken with TOLLHOUSE_LINK_LOCAL_PROVIDERS alone.
    Raises ValidationError for `base_url`.
    """
    url = text.strip()
    if len(url) > URL_CHARS:
        raise _refusal(f"At most {URL_CHARS} characters.")
    # Beyond these, parsers disagree about where the host ends.
    if not (url.isascii() and url.isprintable()) or set(url) & set(" \\"):
        raise _refusal("Use visible ASCII characters only, without spaces and backslashes.")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise _refusal("This is not a URL.") from None
    if parts.scheme not in ({SIMULATED} if kind == SIMULATED else _SCHEMES):
        raise _refusal("Start with https:// or http:// and the host of the provider.")
    if not parts.hostname or port == 0:
        raise _refusal("The host is missing, or the port is 0.")
    if "@" in parts.netloc:
        raise _refusal("Enter user name and password as the credential, not in the URL.")
    if "?" in url or "#" in url:
        raise _refusal("A base URL cannot have a query (?) or fragment (#).")
    if is_metadata_host(parts.hostname) and not settings.LINK_LOCAL_PROVIDERS:
        raise _refusal(
            "This is a link-local or metadata address, where clouds serve a machine's "
            "credentials. Set TOLLHOUSE_LINK_LOCAL_PROVIDERS=yes if a provider is there."
        )
    return url.rstrip("/")


def check_public_url(text: str) -> None:
    """Raise ValidationError for `url` when no call could go there: what is no URL, an address that
    is neither public nor in TOLLHOUSE_FETCH_ALLOWED_NETWORKS, and localhost likewise. Other names
    are judged when they are connected to."""
    networks = read_networks(settings.FETCH_ALLOWED_NETWORKS)
    try:
        url = read_locator(text, networks)
    except NotPublic:
        raise ValidationError({"url": PUBLIC_ONLY}) from None
    except BadAddress as error:
        raise ValidationError({"url": str(error)}) from None
    host, port = (url.raw_host or "").rstrip("."), url.port or 0
    is_here = host == "localhost" or host.endswith(".localhost")
    if is_here and not any(may_connect(address, port, networks) for address in _LOOPBACK):
        raise ValidationError({"url": PUBLIC_ONLY})


def is_metadata_host(host: str) -> bool:
    """True for a link-local or metadata address in any spelling that a resolver takes, and for
    the names that such have. Other names are judged when they are connected to."""
    if host.lower().rstrip(".") in METADATA_NAMES:
        return True
    try:
        return is_metadata(ip_address(host))
    except ValueError:
        pass
    try:
        # Octal, hexadecimal, fewer parts: as the system reads it.
        return is_metadata(IPv4Address(socket.inet_aton(host.rstrip("."))))
    except OSError:
        return False


def origin_of(url: str) -> tuple[str, str, int | None]:
    """Return scheme, host and port: who receives what is sent to this URL.

    Raises ValueError for what is no URL: check one that people entered first.
    """
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port


def _refusal(sentence: str) -> ValidationError:
    return ValidationError({"base_url": sentence})
