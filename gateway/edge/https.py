"""Did the request come by HTTPS? We speak plain HTTP ourselves: a proxy in front speaks TLS.

A trusted proxy says so in X-Forwarded-Proto. Where none does, it is as the public address says.
From anybody else the header means nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from gateway.admission.address import Network, is_in, parse_address

HTTPS = b"https"
# A year. Subdomains and preload lists are for the owner of the domain to decide.
HSTS = (b"strict-transport-security", b"max-age=31536000")


class Https:
    """is_public: the public address is https://."""

    def __init__(self, *, is_public: bool, trusted_proxies: tuple[Network, ...]) -> None:
        self._is_public = is_public
        self._trusted_proxies = trusted_proxies

    @property
    def is_possible(self) -> bool:
        """True when there is anything to look at: the public address, or a proxy's word."""
        return self._is_public or bool(self._trusted_proxies)

    def trusts(self, peer: str) -> bool:
        address = parse_address(peer)
        return address is not None and is_in(address, self._trusted_proxies)

    def mark(
        self,
        fields: Mapping[bytes, bytes],
        scope: Any,
        cycle: RequestResponseCycle,
        *,
        trusts: bool,
    ) -> None:
        """Let the application see the scheme, and the answer tell browsers to keep to HTTPS.

        trusts: of the connection's peer. The last of several values is the nearest proxy's own.
        """
        is_https = self._is_https(fields, trusts=trusts)
        if is_https:
            scope["scheme"] = "https"
        if is_https or self._is_public:
            cycle.default_headers = [*cycle.default_headers, HSTS]

    def tells_browsers(self, fields: Mapping[bytes, bytes], *, trusts: bool) -> bool:
        """True when an answer that no application gives has to name HSTS, too."""
        return self._is_public or self._is_https(fields, trusts=trusts)

    def _is_https(self, fields: Mapping[bytes, bytes], *, trusts: bool) -> bool:
        said = fields.get(b"x-forwarded-proto") if trusts else None
        if said is None:
            return self._is_public
        return said.rpartition(b",")[2].strip().lower() == HTTPS
