"""Certificates for the servers of a test."""

from __future__ import annotations

import ipaddress
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

LIFE = timedelta(days=7)


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _written(thing: x509.Certificate | ec.EllipticCurvePrivateKey) -> bytes:
    if isinstance(thing, x509.Certificate):
        return thing.public_bytes(serialization.Encoding.PEM)
    return thing.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


class Authority:
    """Signs certificates; `path` is its own, for SSL_CERT_FILE."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        own = self._builder("authority", self._key, age=timedelta()).subject_name(
            _name("authority")
        )
        own = own.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        own = own.add_extension(
            x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False
        )
        self.path = folder / "authority.pem"
        self.path.write_bytes(_written(own.sign(self._key, hashes.SHA256())))

    def server_context(
        self, *names: str, age: timedelta = timedelta(), is_own: bool = False
    ) -> ssl.SSLContext:
        """Return what a server needs that says it is `names`, addresses among them.

        age: how long ago the certificate was made; it is good for seven days. is_own: signed by
        itself.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        made = self._builder("authority", key, age=age).subject_name(_name("server"))
        made = made.add_extension(
            x509.SubjectAlternativeName([_alternative(name) for name in names]), critical=False
        )
        signer = key if is_own else self._key
        made = made.add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False
        )
        path = self._folder / "server.pem"
        path.write_bytes(_written(key) + _written(made.sign(signer, hashes.SHA256())))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        return context

    def client_certificate(self, name: str, *, age: timedelta = timedelta()) -> tuple[str, str]:
        """Return the certificate of a client, and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        made = self._builder("authority", key, age=age).subject_name(_name(name))
        made = made.add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()),
            critical=False,
        )
        signed = made.sign(self._key, hashes.SHA256())
        return _written(signed).decode(), _written(key).decode()

    def _builder(
        self, issuer: str, key: ec.EllipticCurvePrivateKey, *, age: timedelta
    ) -> x509.CertificateBuilder:
        begin = datetime.now(UTC) - timedelta(hours=1) - age
        return (
            x509.CertificateBuilder()
            .issuer_name(_name(issuer))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(begin)
            .not_valid_after(begin + LIFE)
        )


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
