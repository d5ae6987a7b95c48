"""Credentials at rest: what opens them, what does not, and how keys change."""

from __future__ import annotations

import uuid

import pytest
from django.core.exceptions import ImproperlyConfigured
from pytest_django import Settings

from accounts.models import AuditEvent
from gateway.models import Provider
from gateway.services.credential_encryption import DecryptionFailed, decrypt, encrypt, reencrypt_all
from gateway.services.providers import set_credential
from gateway.services.snapshot import compile_snapshot
from tests.factories import ACTOR, make_model, make_provider, stored_credential

OLD, NEW = "old-" * 10, "new-" * 10
ROW = uuid.UUID(int=7)


@pytest.fixture(autouse=True)
def _old_key(settings: Settings) -> None:
    settings.SEALING_KEYS = [OLD]


@pytest.mark.parametrize("text", ["sk-live", "x" * 4096, "ключ", ""])
def test_what_was_encrypted_can_be_decrypted_for_its_row(text: str) -> None:
    encrypted = encrypt(text, ROW)

    assert decrypt(encrypted, ROW) == text
    assert not text or text.encode() not in encrypted


def test_the_same_text_is_never_encrypted_the_same_way_twice() -> None:
    assert encrypt("sk-live", ROW) != encrypt("sk-live", ROW)


def test_a_value_copied_into_another_row_does_not_open() -> None:
    encrypted = encrypt("sk-live", ROW)

    with pytest.raises(DecryptionFailed, match="another row"):
        decrypt(encrypted, uuid.UUID(int=8))


def test_a_value_with_any_bit_turned_does_not_open() -> None:
    encrypted = encrypt("sk-live", ROW)

    for position in range(len(encrypted) * 8):
        altered = bytearray(encrypted)
        altered[position // 8] ^= 1 << position % 8
        with pytest.raises(DecryptionFailed):
            decrypt(bytes(altered), ROW)


def test_a_value_cut_short_does_not_open() -> None:
    encrypted = encrypt("sk-live", ROW)

    for length in range(len(encrypted)):
        with pytest.raises(DecryptionFailed):
            decrypt(encrypted[:length], ROW)


def test_a_failed_decryption_tells_nothing_of_what_is_in_it() -> None:
    with pytest.raises(DecryptionFailed) as refusal:
        decrypt(encrypt("sk-live", ROW)[:-1] + b"x", ROW)

    assert "sk-live" not in str(refusal.value)


def test_the_first_key_encrypts_and_all_of_them_decrypt(settings: Settings) -> None:
    encrypted_before = encrypt("sk-live", ROW)

    settings.SEALING_KEYS = [NEW, OLD]
    encrypted_after = encrypt("sk-live", ROW)
    opened = [decrypt(encrypted_before, ROW), decrypt(encrypted_after, ROW)]
    settings.SEALING_KEYS = [NEW]

    assert opened == ["sk-live", "sk-live"]
    assert decrypt(encrypted_after, ROW) == "sk-live"
    with pytest.raises(DecryptionFailed, match="TOLLHOUSE_SEALING_KEYS"):
        decrypt(encrypted_before, ROW)


def test_a_key_short_enough_to_guess_is_refused(settings: Settings) -> None:
    settings.SEALING_KEYS = ["password"]

    with pytest.raises(ImproperlyConfigured, match="TOLLHOUSE_SEALING_KEYS") as refusal:
        encrypt("sk-live", ROW)

    assert "password" not in str(refusal.value)


@pytest.mark.django_db
def test_after_reencrypting_the_old_key_is_not_needed_any_more(settings: Settings) -> None:
    providers = [make_provider(f"p{n}", kind="openai", credential=f"sk-{n}") for n in range(3)]
    make_provider("without")
    settings.SEALING_KEYS = [NEW, OLD]
    set_credential(providers[0], credential="sk-0", actor=ACTOR)

    counts = [reencrypt_all(actor=ACTOR), reencrypt_all(actor=ACTOR)]
    settings.SEALING_KEYS = [NEW]

    assert counts == [2, 0]
    assert [stored_credential(each) for each in providers] == ["sk-0", "sk-1", "sk-2"]
    assert AuditEvent.objects.get(action="provider.reseal").details == {"resealed": 2}


@pytest.mark.django_db
def test_reencrypting_changes_nothing_when_one_value_does_not_open(settings: Settings) -> None:
    good = make_provider("good", kind="openai", credential="sk-good")
    lost = make_provider("lost", kind="openai", credential="sk-lost")
    before = bytes(good.credentials.get().secret or b"")
    lost.credentials.update(secret=b"rubbish")
    settings.SEALING_KEYS = [NEW, OLD]

    with pytest.raises(DecryptionFailed, match="lost"):
        reencrypt_all(actor=ACTOR)

    assert bytes(good.credentials.get().secret or b"") == before


@pytest.mark.django_db
def test_no_credential_is_stored_or_written_down_in_the_clear() -> None:
    provider = make_provider("up", kind="openai", credential="sk-live-12345")
    make_model(provider=provider)
    set_credential(provider, credential="sk-live-67890", actor=ACTOR)

    row = [Provider.objects.values().get(pk=provider.pk), *provider.credentials.values()]
    seen = repr(row) + repr(list(AuditEvent.objects.values())) + repr(compile_snapshot())
    assert "sk-live" not in seen
