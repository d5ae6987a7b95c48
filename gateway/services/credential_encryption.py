"""Encryption at rest of the credentials that providers gave us, and of the keys for files.

An encrypted value is: version (1 byte) | key id (4) | nonce (12) | AES-256-GCM ciphertext and tag.
The row's id and the header are authenticated with it, so that a value copied into another row
cannot be decrypted. The keys are settings.SEALING_KEYS: the first encrypts, all of them decrypt.
"""

from __future__ import annotations

import hashlib
import secrets
from uuid import UUID, uuid5

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction
from django.db.models import Model

from accounts.changes import record_audit
from gateway.models import (
    McpServer,
    ProcessorService,
    Provider,
    ProviderCredential,
    ToolSetting,
    WorkspaceStorage,
)

MIN_KEY_CHARS = 32
# What a provider has beside its credentials, by field, and what it is called.
SECRETS = {"proxy_credential": "proxy password", "client_key": "client key"}
_VERSION = b"\x01"
_KEY_ID_BYTES = 4
_NONCE_BYTES = 12
_HEADER_BYTES = len(_VERSION) + _KEY_ID_BYTES


class DecryptionFailed(Exception):
    """A value cannot be decrypted: its key is gone, or it was altered or moved."""


def encrypt(text: str, row_id: UUID) -> bytes:
    """Return the text encrypted with the first key, for this row alone."""
    header, cipher = next(iter(_ciphers().items()))
    nonce = secrets.token_bytes(_NONCE_BYTES)
    return header + nonce + cipher.encrypt(nonce, text.encode(), header + row_id.bytes)


def decrypt(encrypted: bytes, row_id: UUID) -> str:
    """Return what was encrypted for this row. Raises DecryptionFailed."""
    header, rest = encrypted[:_HEADER_BYTES], encrypted[_HEADER_BYTES:]
    cipher = _ciphers().get(header)
    if cipher is None:
        raise DecryptionFailed(
            "It was encrypted with a key that TOLLHOUSE_SEALING_KEYS does not have."
        )
    nonce, ciphertext = rest[:_NONCE_BYTES], rest[_NONCE_BYTES:]
    try:
        return cipher.decrypt(nonce, ciphertext, header + row_id.bytes).decode()
    except (InvalidTag, ValueError):
        raise DecryptionFailed("It was altered, or encrypted for another row.") from None


def check_value(key: str) -> str:
    """Return what tells this key from others, and from which it cannot be found."""
    return hashlib.sha256(b"tollhouse sealing key check" + _derive(key)).hexdigest()


def uses_first_key(encrypted: bytes) -> bool:
    return encrypted[:_HEADER_BYTES] == next(iter(_ciphers()))


@transaction.atomic
def reencrypt_all(*, actor: str) -> int:
    """Encrypt with the first key what older keys have encrypted; return how many there were.

    Afterwards the older keys may be taken out of the settings. All or nothing.
    Raises DecryptionFailed, naming the provider, when one cannot be decrypted.
    """
    reencrypted = sum(
        _reencrypt(provider, name, secret_id(provider, name), f"The {said} of {provider}")
        for provider in Provider.objects.all()
        for name, said in SECRETS.items()
    )
    reencrypted += sum(
        _reencrypt(each, "secret", each.pk, f"The credential {each} of {each.provider}")
        for each in ProviderCredential.objects.select_related("provider")
    )
    reencrypted += sum(
        _reencrypt(
            each,
            "data_key",
            data_key_id(each.workspace_id),
            f"The key for files of the workspace {each.workspace_id}",
        )
        for each in WorkspaceStorage.objects.iterator()
    )
    named = ((McpServer, "MCP server"), (ProcessorService, "service"), (ToolSetting, "server tool"))
    for kind, said in named:
        reencrypted += sum(
            _reencrypt(each, "secret", each.pk, f"The credential of the {said} {each}")
            for each in kind._default_manager.all()
        )
    if reencrypted:
        record_audit(
            actor=actor, action="provider.reseal", target="all", details={"resealed": reencrypted}
        )
    return reencrypted


def secret_id(provider: Provider, name: str) -> UUID:
    """Return what a secret of a provider is encrypted for: this row, and this field alone."""
    return uuid5(provider.pk, name)


def data_key_id(workspace_id: UUID) -> UUID:
    """Return what the key for the files of a workspace is encrypted for."""
    return uuid5(workspace_id, "files")


def _reencrypt(row: Model, name: str, row_id: UUID, said: str) -> int:
    """Encrypt one secret with the first key. Returns how many there were to be."""
    stored: bytes | None = getattr(row, name)
    old = bytes(stored or b"")
    if stored is None or uses_first_key(old):
        return 0
    try:
        new = encrypt(decrypt(old, row_id), row_id)
    except DecryptionFailed as error:
        raise DecryptionFailed(f"{said} cannot be decrypted. {error}") from None
    # Conditional: a secret that was replaced in between stays.
    rows = type(row)._default_manager.filter(pk=row.pk, **{name: old})
    return rows.update(**{name: new})


def _ciphers() -> dict[bytes, AESGCM]:
    """Return the cipher of each key by the header of what it encrypts; the first one encrypts."""
    return dict(_cipher(key) for key in settings.SEALING_KEYS)


def _cipher(key: str) -> tuple[bytes, AESGCM]:
    derived = _derive(key)
    key_id = hashlib.sha256(b"tollhouse sealing key id" + derived).digest()[:_KEY_ID_BYTES]
    return _VERSION + key_id, AESGCM(derived)


def _derive(key: str) -> bytes:
    if len(key) < MIN_KEY_CHARS:
        raise ImproperlyConfigured(
            f"Each of TOLLHOUSE_SEALING_KEYS needs at least {MIN_KEY_CHARS} random characters."
        )
    return HKDF(SHA256(), length=32, salt=None, info=b"tollhouse sealing 1").derive(key.encode())
