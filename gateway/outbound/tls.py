"""TLS contexts for providers: whom we trust, and what we show."""

from __future__ import annotations

import secrets
import ssl
from tempfile import NamedTemporaryFile

from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from gateway.core.provider_connection import ConnectionSettings


def provider_context(settings: ConnectionSettings) -> ssl.SSLContext:
    """Return the context for connections to a provider.

    Raises ValueError for a certificate or key that cannot be used.
    """
    context = ssl.create_default_context(cadata=settings.ca_certificate or None)
    if settings.client_certificate:
        show_certificate(context, settings.client_certificate, settings.client_key)
    context.set_alpn_protocols(["h2", "http/1.1"] if settings.http2 else ["http/1.1"])
    return context


def proxy_context(settings: ConnectionSettings) -> ssl.SSLContext:
    """Return the context for connections to a proxy: the provider's CA may have signed it, too."""
    context = ssl.create_default_context()
    if settings.ca_certificate:
        context.load_verify_locations(cadata=settings.ca_certificate)
    context.set_alpn_protocols(["http/1.1"])
    return context


def show_certificate(context: ssl.SSLContext, certificate: str, key: str) -> None:
    """Let the context show a client certificate. OpenSSL reads files alone: the key is in one for
    a moment, readable by this process's user and encrypted with a password of that moment."""
    password = secrets.token_urlsafe(32).encode()
    sealed = load_pem_private_key(key.encode(), None).private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(password)
    )
    with NamedTemporaryFile() as file:
        file.write(certificate.encode().rstrip() + b"\n" + sealed)
        file.flush()
        context.load_cert_chain(file.name, password=password)
