"""Secrets issued elsewhere: what is taken, what is refused because it could be guessed."""

from __future__ import annotations

import hashlib
import random
import secrets
import uuid
from base64 import urlsafe_b64encode

import pytest

from keys.imported_secret import find_guessable, read_digest, read_secret
from keys.secret import digest_secret

RANDOM = {
    "OpenAI project key": "sk-proj-9fJ2kQ7vTz1xWm4bRc8nLd5yHs6gPa0eUiOoKlMj",
    "one-api": "sk-7NnQ2vZc4XyT9bKpL0sWdRfGhJmA1eUiOzV5xC8qB3tY6rE",
    "LiteLLM": "sk-Z3kV9xQw2LpTnB7yRd5Mug",
    "OpenRouter": "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",
    "by chance with a start of its own": "sk-txlsgew3_IN__FORu6mJaA",
    "Portkey": "Vq8LrT2mXz+cN/5yKdPw0sHb3Ge=",
    "rpk": "rpk_b81c04d7e95f2a6c3d80e1f7a4b92c65",
    "Azure": "d41f8cd98f00b204e9800998ecf8427e",
    "odd signs": "~K{9}'\"<&>;%7$vQ!x(Zt)w*R,m?/",
    "Inferada": "inf_x8Kq2LmT0vRz7NcY4bWd9sHf6Gp",
}
GUESSABLE = [
    *("sk-1234", "sk-test", "changeme", "password", "sk-" + "a" * 48, "sk-" + "ab" * 24),
    *("0123456789abcdef0123456789abcdef", "sk-abcdefghijklmnopqrstuvwxyz0123456789"),
    *("correct-horse-battery-staple", "sk-my-secret-key-2024", "12345678901234567890", "sk-proj-"),
    *("letmein-letmein-letmein-letmein", "bud_client_master_key", "sk-9fJ2kQ7vTz1"),
]


@pytest.mark.parametrize("secret", RANDOM.values(), ids=RANDOM)
def test_a_random_secret_of_any_form_is_taken_by_its_digest(secret: str) -> None:
    kept = read_secret(f" {secret}\r\n")

    assert kept.digest == hashlib.sha256(secret.encode()).hexdigest() == digest_secret(secret)
    assert secret.startswith(kept.prefix)
    assert (kept.hint, kept.is_imported) == (secret[-4:], True)
    assert len(kept.prefix) <= 16


def test_what_is_shown_of_a_secret_is_its_kind_and_its_end() -> None:
    shown = {name: read_secret(secret).prefix for name, secret in RANDOM.items()}

    assert shown["OpenAI project key"] == "sk-proj-"
    assert shown["OpenRouter"] == "sk-or-v1-"
    assert shown["rpk"] == "rpk_"
    assert shown["Azure"] == shown["Portkey"] == shown["odd signs"] == ""


def test_the_usual_generators_are_never_called_guessable() -> None:
    chance = random.Random(16)
    drawn = [chance.randbytes(16) for _ in range(2_000)]
    made = [f"sk-{urlsafe_b64encode(part).decode().rstrip('=')}" for part in drawn]
    made += [part.hex() for part in drawn]
    made += [str(uuid.UUID(bytes=part, version=4)) for part in drawn]

    assert all(read_secret(secret) for secret in made)


@pytest.mark.parametrize("secret", GUESSABLE)
def test_what_could_be_guessed_is_refused_without_repeating_it(secret: str) -> None:
    with pytest.raises(ValueError, match="could be guessed") as refusal:
        read_secret(secret)

    assert secret not in str(refusal.value)


@pytest.mark.parametrize(
    ("secret", "words"),
    [
        ("", "no spaces"),
        ("Bearer sk-proj-9fJ2kQ7vTz1xWm4bRc8nLd5y", "word Bearer"),
        ("sk-proj-9fJ2kQ7v Tz1xWm4bRc8nLd5y", "no spaces"),
        ("sk-proj-9fJ2kQ7v\x00Tz1xWm4bRc8nLd5y", "no spaces"),
        ("sk-prój-9fJ2kQ7vTz1xWm4bRc8nLd5y", "ASCII"),
        (secrets.token_urlsafe(600), "at most 512"),
    ],
)
def test_what_no_program_could_send_is_refused(secret: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read_secret(secret)


def test_a_digest_is_taken_in_any_case() -> None:
    digest = digest_secret("sk-x")

    found = [read_digest(text) for text in (digest, digest.upper(), f" sha256:{digest} ")]

    assert [kept.digest for kept in found] == [digest] * 3
    assert read_digest(digest, "b2Zq").hint == "b2Zq"


@pytest.mark.parametrize(
    ("text", "hint"), [("", ""), ("ab" * 31, ""), ("zz" * 32, ""), ("ab" * 32, "abc")]
)
def test_what_is_no_digest_is_refused(text: str, hint: str) -> None:
    with pytest.raises(ValueError, match=r"digits|characters"):
        read_digest(text, hint)


def test_digests_of_the_first_guesses_are_found() -> None:
    good = digest_secret(RANDOM["rpk"])
    bad = {digest_secret(secret) for secret in ("", "sk-1234", "password")}

    assert find_guessable({good, *bad}) == bad
