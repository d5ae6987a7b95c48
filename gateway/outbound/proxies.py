"""Proxies: which of them the environment names for a provider.

HTTPS_PROXY and HTTP_PROXY by the scheme of the provider's address, unless NO_PROXY has its host.
This machine's own addresses are never behind a proxy of the environment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from urllib.parse import SplitResult, unquote, urlsplit

PORTS = {"http": 80, "https": 443}


class ProxyRefused(OSError):
    """A proxy does not connect us: 407 asks for a credential."""

    def __init__(self, status: int) -> None:
        super().__init__(f"The proxy answered {status}.")
        self.status = status


@dataclass(frozen=True, slots=True)
class Proxy:
    """url: scheme://host:port. credential: name:password, empty for none."""

    url: str
    credential: str = ""

    def __repr__(self) -> str:
        return f"Proxy({self.url})"


@dataclass(frozen=True, slots=True)
class EnvironmentProxies:
    """by_scheme: the proxy for providers of http:// and https://. excluded: entries of NO_PROXY."""

    by_scheme: Mapping[str, Proxy]
    excluded: tuple[str, ...] = ()

    def proxy_for(self, base_url: str) -> Proxy | None:
        """Return the proxy for a provider's address, or None."""
        parts = urlsplit(base_url)
        proxy = self.by_scheme.get(parts.scheme)
        if proxy is None or is_loopback(parts.hostname or ""):
            return None
        return None if any(matches(entry, parts) for entry in self.excluded) else proxy


def read_environment(environment: Mapping[str, str]) -> EnvironmentProxies:
    """Return what the variables say; the names in lower case go first.

    Raises ValueError, naming the variable, for a proxy that cannot be used.
    """
    found = {}
    for scheme in PORTS:
        name = f"{scheme}_proxy"
        text = environment.get(name) or environment.get(name.upper()) or ""
        if text.strip():
            try:
                found[scheme] = read_proxy(text)
            except ValueError as error:
                raise ValueError(f"{name.upper()}: {error}") from None
    listed = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
    return EnvironmentProxies(found, tuple(filter(None, map(str.strip, listed.split(",")))))


def read_proxy(text: str) -> Proxy:
    """Return the proxy of a URL such as http://name:password@proxy.example.com:3128.

    Raises ValueError with a sentence that does not quote it.
    """
    text = text.strip()
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        port = parts.port
    except ValueError:
        raise ValueError("The proxy must look like http://proxy.example.com:3128.") from None
    if parts.scheme not in PORTS:
        raise ValueError("The proxy must be reached by http:// or https://.")
    if not parts.hostname or parts.path.strip("/") or parts.query or parts.fragment:
        raise ValueError("The proxy must look like http://proxy.example.com:3128.")
    if not (parts.netloc.isascii() and parts.netloc.isprintable()) or " " in parts.netloc:
        raise ValueError("The proxy's address has characters that no address has.")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    url = f"{parts.scheme}://{host}:{port or PORTS[parts.scheme]}"
    if parts.username is None:
        return Proxy(url)
    return Proxy(url, f"{unquote(parts.username)}:{unquote(parts.password or '')}")


def is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def matches(entry: str, address: SplitResult) -> bool:
    """True when an entry of NO_PROXY has the address: *, a host or domain with or without a dot
    before it, an IP address or network; each but networks with :port where only that is meant."""
    if entry == "*":
        return True
    host = (address.hostname or "").rstrip(".")
    try:
        return ip_address(host) in ip_network(entry, strict=False)
    except ValueError:
        pass
    named = urlsplit(f"//{entry.lower()}")
    try:
        port = named.port
    except ValueError:
        return False
    if port is not None and port != (address.port or PORTS.get(address.scheme)):
        return False
    name = (named.hostname or "").removeprefix("*").strip(".")
    return bool(name) and (host == name or host.endswith(f".{name}"))
