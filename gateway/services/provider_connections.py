"""How providers are reached: transport, HTTP/2, proxy and certificates, checked and kept."""

from __future__ import annotations

from copy import copy
from datetime import UTC, datetime
from typing import TypedDict, Unpack

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
)
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction

from accounts.all_errors import raising_all
from accounts.changes import record_audit, record_change
from accounts.models import ConfigChange
from gateway.core.provider_connection import ConnectionSettings
from gateway.models import Provider, ProviderHealth
from gateway.outbound.proxies import Proxy, read_proxy
from gateway.outbound.tls import provider_context
from gateway.providers import catalogue
from gateway.services.addresses import is_metadata_host, origin_of
from gateway.services.credential_encryption import (
    DecryptionFailed,
    decrypt,
    encrypt,
    secret_id,
)

PEM_CHARS = 65_536
PROXY_CREDENTIAL_CHARS = 1_024
PROXY_URL_CHARS = 400
_PLAIN = ConnectionSettings()
_PUBLIC_KEY = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


class ConnectionFields(TypedDict, total=False):
    """What is kept in the clear. Certificates are PEM."""

    transport: str
    uses_http2: bool
    proxy_url: str
    ca_certificate: str
    client_certificate: str


@transaction.atomic
def set_connection(
    provider: Provider,
    *,
    proxy_credential: str = "",
    client_key: str = "",
    actor: str,
    **fields: Unpack[ConnectionFields],
) -> bool:
    """Change what is given. Returns False when nothing is different.

    proxy_credential: name:password. It and client_key replace what is stored where they are not
    empty; without a proxy, or a certificate, nothing stays stored. Raises ValidationError.
    """
    stored = Provider.objects.get(pk=provider.pk)
    before = {name: getattr(stored, name) for name in ConnectionFields.__annotations__}
    secrets_before = (stored.proxy_credential, stored.client_key)
    for name, value in read_connection_fields(fields).items():
        setattr(stored, name, value)
    _set_secrets(stored, before["proxy_url"], proxy_credential, client_key)
    _check_together(stored)
    changed: dict[str, object] = {
        name: _describe(name, was, getattr(stored, name))
        for name, was in before.items()
        if was != getattr(stored, name)
    }
    names = ("proxy_credential", "client_key")
    for name, was in zip(names, secrets_before, strict=True):
        if was != getattr(stored, name):
            changed[name] = "replaced" if getattr(stored, name) else "removed"
    if not changed:
        return False
    stored.full_clean()
    stored.save(update_fields=[*before, *names])
    provider.refresh_from_db()
    ProviderHealth.objects.filter(provider=provider).delete()
    record_change(ConfigChange.Kind.CATALOGUE)
    record_audit(
        actor=actor, action="provider.set_connection", target=provider.name, details=changed
    )
    return True


def connection_settings(provider: Provider) -> ConnectionSettings | None:
    """Return how to reach it by httpx; None for our own connections.

    Raises DecryptionFailed when a secret of it cannot be read.
    """
    if provider.transport == Provider.Transport.DIRECT or provider.kind == catalogue.SIMULATED:
        return None
    proxy = proxy_of(provider)
    credential = proxy.credential if proxy else ""
    if provider.proxy_credential:
        credential = decrypt(
            bytes(provider.proxy_credential), secret_id(provider, "proxy_credential")
        )
    key = provider.client_key
    found = ConnectionSettings(
        http2=provider.uses_http2,
        proxy_url=proxy.url if proxy else "",
        proxy_credential=credential,
        ca_certificate=provider.ca_certificate,
        client_certificate=provider.client_certificate,
        client_key=decrypt(bytes(key), secret_id(provider, "client_key")) if key else "",
    )
    is_forced = provider.transport == Provider.Transport.HTTPX
    return found if is_forced or found != _PLAIN else None


def proxy_of(provider: Provider) -> Proxy | None:
    """Return its own proxy, without the credential, or the environment's for its address."""
    if provider.transport == Provider.Transport.DIRECT:
        return None
    if provider.proxy_url:
        return Proxy(provider.proxy_url)
    return settings.ENVIRONMENT_PROXIES.proxy_for(provider.base_url)


def used_transport(provider: Provider) -> str:
    """Return direct or httpx: what its calls go by."""
    if provider.transport != Provider.Transport.AUTOMATIC:
        return provider.transport
    needs = provider.uses_http2 or provider.ca_certificate or provider.client_certificate
    is_plain = not needs and proxy_of(provider) is None
    return Provider.Transport.DIRECT if is_plain else Provider.Transport.HTTPX


def connection_warnings(provider: Provider) -> list[str]:
    """Return sentences about certificates that are not good now."""
    now = datetime.now(UTC)
    warnings = []
    for name, label in (("ca_certificate", "CA"), ("client_certificate", "client")):
        for certificate in _read_certificates(name, getattr(provider, name)):
            day = certificate.not_valid_after_utc.date().isoformat()
            if certificate.not_valid_after_utc < now:
                warnings.append(f"The {label} certificate expired on {day}.")
            elif certificate.not_valid_before_utc > now:
                day = certificate.not_valid_before_utc.date().isoformat()
                warnings.append(f"The {label} certificate is not valid before {day}.")
    return warnings


def read_connection_fields(fields: ConnectionFields) -> ConnectionFields:
    """Return the fields as they are stored. Raises ValidationError for those that cannot be
    taken."""
    read: ConnectionFields = {**fields}
    with raising_all() as gather:
        if "proxy_url" in fields:
            with gather():
                read["proxy_url"] = _read_proxy_url(fields["proxy_url"])
        for name in ("ca_certificate", "client_certificate"):
            if name in fields:
                text = fields[name].replace("\r\n", "\n").strip()
                with gather():
                    _read_certificates(name, text)
                read[name] = f"{text}\n" if text else ""
    return read


def check_connection(
    provider: Provider, fields: ConnectionFields, *, proxy_credential: str, client_key: str
) -> None:
    """Raise ValidationError for secrets that cannot be taken, or not together with the fields.

    provider: as it is, or a new one; it is not changed. fields: those that are well-formed. Of a
    secret whose field is not there only the form is looked at.
    """
    changed = copy(provider)
    for name, value in read_connection_fields(fields).items():
        setattr(changed, name, value)
    with raising_all() as gather:
        with gather():
            if "proxy_url" in fields:
                _set_proxy_credential(changed, provider.proxy_url, proxy_credential)
            elif proxy_credential.strip():
                _check_proxy_credential(proxy_credential.strip())
        with gather():
            if "client_certificate" in fields:
                _set_client_key(changed, client_key)
            elif client_key.strip():
                _read_public_key(client_key)
    if fields.keys() == ConnectionFields.__annotations__.keys():
        _check_together(changed)


def _read_proxy_url(text: str) -> str:
    if not text.strip():
        return ""
    if len(text) > PROXY_URL_CHARS:
        raise ValidationError({"proxy_url": f"At most {PROXY_URL_CHARS} characters."})
    if "://" not in text:
        raise ValidationError({"proxy_url": "Start with http:// or https://."})
    try:
        proxy = read_proxy(text)
    except ValueError as error:
        raise ValidationError({"proxy_url": str(error)}) from None
    if proxy.credential:
        raise ValidationError(
            {"proxy_url": "Enter name and password as the password for the proxy, not in the URL."}
        )
    host = origin_of(proxy.url)[1]
    if is_metadata_host(host) and not settings.LINK_LOCAL_PROVIDERS:
        raise ValidationError({"proxy_url": "This is a link-local or metadata address."})
    return proxy.url


def _read_certificates(name: str, text: str) -> list[x509.Certificate]:
    if not text:
        return []
    if len(text) > PEM_CHARS:
        raise ValidationError({name: f"At most {PEM_CHARS} characters."})
    if "PRIVATE KEY" in text:
        raise ValidationError({name: "This contains a private key. Enter only certificates here."})
    try:
        return x509.load_pem_x509_certificates(text.encode())
    except ValueError:
        raise ValidationError(
            {name: "This is not a PEM certificate. It starts with -----BEGIN CERTIFICATE-----."}
        ) from None


def _set_secrets(provider: Provider, url_before: str, proxy_credential: str, key: str) -> None:
    with raising_all() as gather:
        with gather():
            _set_proxy_credential(provider, url_before, proxy_credential)
        with gather():
            _set_client_key(provider, key)


def _set_proxy_credential(provider: Provider, url_before: str, text: str) -> None:
    given = text.strip()
    if not provider.proxy_url:
        if given:
            raise ValidationError({"proxy_credential": "Enter the URL of the proxy, too."})
        provider.proxy_credential = None
    elif given:
        _check_proxy_credential(given)
        provider.proxy_credential = encrypt(given, secret_id(provider, "proxy_credential"))
    elif provider.proxy_credential and provider.proxy_url != url_before:
        raise ValidationError({"proxy_credential": "The proxy changed. Enter the password again."})


def _check_proxy_credential(text: str) -> None:
    name, colon, _ = text.partition(":")
    if len(text) > PROXY_CREDENTIAL_CHARS:
        raise ValidationError({"proxy_credential": f"At most {PROXY_CREDENTIAL_CHARS} characters."})
    if not (name and colon) or not text.isprintable():
        raise ValidationError({"proxy_credential": "Enter it as name:password."})


def _set_client_key(provider: Provider, text: str) -> None:
    given = text.replace("\r\n", "\n").strip()
    if not provider.client_certificate:
        if given:
            raise ValidationError({"client_certificate": "Enter the certificate of the key, too."})
        provider.client_key = None
        return
    stored = provider.client_key
    if not given and stored is None:
        raise ValidationError({"client_key": "A client certificate needs its private key."})
    key_id = secret_id(provider, "client_key")
    try:
        key = given or decrypt(bytes(stored or b""), key_id)
    except DecryptionFailed:
        raise ValidationError(
            {"client_key": "The stored key cannot be decrypted. Enter it again."}
        ) from None
    _check_key(key, _read_certificates("client_certificate", provider.client_certificate)[0])
    if given:
        provider.client_key = encrypt(given, key_id)


def _check_key(text: str, certificate: x509.Certificate) -> None:
    if _read_public_key(text) != certificate.public_key().public_bytes(*_PUBLIC_KEY):
        raise ValidationError({"client_key": "This key does not belong to the client certificate."})


def _read_public_key(text: str) -> bytes:
    """Return the public key of a private one. Raises ValidationError for `client_key`."""
    if len(text) > PEM_CHARS:
        raise ValidationError({"client_key": f"At most {PEM_CHARS} characters."})
    try:
        public = load_pem_private_key(text.encode(), None).public_key()
        return public.public_bytes(*_PUBLIC_KEY)
    except TypeError:
        raise ValidationError(
            {"client_key": "This key is protected by a passphrase. Enter it without one."}
        ) from None
    except (ValueError, UnsupportedAlgorithm):
        raise ValidationError({"client_key": "This is not a PEM private key."}) from None


def _check_together(provider: Provider) -> None:
    if provider.transport not in Provider.Transport.values:
        raise ValidationError({"transport": f"Use one of {', '.join(Provider.Transport.values)}."})
    own = ("uses_http2", "proxy_url", "ca_certificate", "client_certificate")
    if provider.transport == Provider.Transport.DIRECT and any(
        getattr(provider, name) for name in own
    ):
        raise ValidationError(
            {
                "transport": "Direct connections cannot use HTTP/2, a proxy, a CA or a client "
                "certificate. Choose automatic, or remove those."
            }
        )
    try:
        key = provider.client_key
        provider_context(
            ConnectionSettings(
                ca_certificate=provider.ca_certificate,
                client_certificate=provider.client_certificate,
                client_key=decrypt(bytes(key), secret_id(provider, "client_key")) if key else "",
            )
        )
    except (ValueError, OSError):
        name = "client_certificate" if provider.client_certificate else "ca_certificate"
        raise ValidationError({name: "TLS cannot use this certificate."}) from None


def _describe(name: str, before: object, after: object) -> object:
    """Return what the audit log says of a change: of certificates not the text."""
    if name.endswith("_certificate"):
        return "replaced" if after else "removed"
    return [before, after]
