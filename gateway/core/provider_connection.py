"""How a provider is reached where the gateway's own HTTP/1.1 connections do not do."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionSettings:
    """Providers with equal settings share connections. Secrets stay out of repr."""

    # Offered to servers that are reached by https.
    http2: bool = False
    # http://host:port or https://host:port; empty for none.
    proxy_url: str = ""
    # name:password for the proxy; empty for none.
    proxy_credential: str = field(default="", repr=False)
    # PEM. Trusted instead of the system's certificate authorities; empty for those.
    ca_certificate: str = ""
    # PEM: the certificate and what leads to its authority, and its key; empty for none.
    client_certificate: str = ""
    client_key: str = field(default="", repr=False)
