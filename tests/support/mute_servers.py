"""Servers that never come to an answer: silent, closing, or with a certificate of nobody's."""

from __future__ import annotations

import datetime
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@contextmanager
def listening() -> Iterator[socket.socket]:
    """Open a port that is listened at, and where nobody says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


@contextmanager
def closing_each() -> Iterator[str]:
    """Run a server that closes each connection before it answers; yield its address."""
    with listening() as server:

        def serve() -> None:
            link, _ = server.accept()
            with link:
                link.recv(65536)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/v1"
        thread.join()


@contextmanager
def self_signed(folder: Path) -> Iterator[str]:
    """Run a TLS server with a certificate that nobody trusts; yield its address."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = folder / "server.pem"
    pem.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    with listening() as server:

        def serve() -> None:
            link, _ = server.accept()
            try:
                context.wrap_socket(link, server_side=True).close()
            except OSError:
                link.close()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"https://localhost:{server.getsockname()[1]}/v1"
        thread.join()
