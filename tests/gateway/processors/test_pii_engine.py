"""What the engine of personal data finds, and what it leaves."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bench.personal_data import PATTERNS, Findings, add_up, ask, find_in, rate, read_corpus
from gateway.processors.engines.pii import handle
from gateway.processors.engines.pii_recognisers import checksums
from gateway.processors.pii_types import CHECKED_TYPES, LANGUAGES

# What the issuers publish as examples, each with its last character changed beside it.
EXAMPLES: list[tuple[Callable[[str], bool], str, str]] = [
    (checksums.mod_97, "GB82WEST12345698765432", "GB82WEST12345698765433"),
    (checksums.mod_97, "NL91ABNA0417164300", "NL91ABNA0417164301"),
    (checksums.luhn, "4111111111111111", "4111111111111112"),
    (checksums.luhn, "378282246310005", "378282246310006"),
    (checksums.nl_bsn, "111222333", "111222334"),
    (checksums.uk_nhs, "9434765919", "9434765918"),
    (checksums.de_tax_id, "86095742719", "86095742718"),
    (checksums.de_pension, "65170839J003", "65170839J004"),
    (checksums.fr_nir, "255081416802538", "255081416802539"),
    (checksums.es_nif, "12345678Z", "12345678A"),
    (checksums.es_nif, "X1234567L", "X1234567M"),
    (checksums.it_fiscal_code, "RSSMRA85T10A562S", "RSSMRA85T10A562T"),
    (checksums.pt_nif, "123456789", "123456788"),
    (checksums.br_cpf, "39053344705", "39053344706"),
    (checksums.icao, "L898902C36", "L898902C37"),
    (checksums.us_ssn, "536904399", "666904399"),
    (checksums.us_itin, "912701234", "912451234"),
    (checksums.uk_nino, "AB123456C", "BG123456C"),
]


@pytest.mark.parametrize(("is_valid", "right", "wrong"), EXAMPLES)
def test_a_check_digit_tells_a_number_from_its_misprint(
    is_valid: Callable[[str], bool], right: str, wrong: str
) -> None:
    assert is_valid(right)
    assert not is_valid(wrong)


def test_numbers_addresses_and_mails_of_the_corpus_are_found() -> None:
    sentences = read_corpus()
    scores = rate(sentences, find_in(sentences, PATTERNS))

    for kinds in (CHECKED_TYPES, ["EMAIL_ADDRESS"], ["PHONE_NUMBER"], ["IP_ADDRESS"]):
        total = add_up(scores, kinds)
        assert total.recall is not None
        assert total.recall >= 0.95, kinds
        assert total.precision is not None
        assert total.precision >= 0.9, kinds


def test_the_corpus_has_every_language_and_hard_negatives() -> None:
    sentences = read_corpus()

    assert len(sentences) >= 600
    for language in LANGUAGES:
        own = [one for one in sentences if one.language == language]
        assert len(own) >= 80
        assert sum(not one.entities for one in own) >= 15
    assert all(
        one.text[mark.start : mark.end].strip() for one in sentences for mark in one.entities
    )


def find(text: str, language: str | None = "en", **more: object) -> list[tuple[str, str]]:
    answer = handle({"texts": [text], "languages": language and [language], **more})
    findings: Findings = answer["findings"]  # type: ignore[assignment]
    return [(kind, text[start:end]) for kind, start, end, _ in findings[0]]


def test_unseen_characters_hide_nothing() -> None:
    assert find("IBAN NL91\u200bABNA\u00a00417\u202f1643 00 now") == [
        ("IBAN_CODE", "NL91\u200bABNA\u00a00417\u202f1643 00")
    ]
    wide = "".join(chr(ord(c) + 0xFEE0) for c in "4111111111111111")
    assert find(f"card {wide}") == [("CREDIT_CARD", wide)]


def test_only_the_wanted_types_are_found() -> None:
    text = "Mail j@example.com or call +31 6 12345678."

    assert find(text, entities=["EMAIL_ADDRESS"]) == [("EMAIL_ADDRESS", "j@example.com")]


def test_a_lower_threshold_finds_more() -> None:
    text = "See https://docs.example.com/guide for more."

    assert find(text) == []
    assert find(text, score_threshold=0.4) == [("URL", "https://docs.example.com/guide")]


def test_what_holds_another_finding_is_found_as_a_whole() -> None:
    text = "https://shop.example.com/?email=jan@example.com"

    assert find(text) == [("URL", text)]


def test_a_number_that_a_word_names_otherwise_is_left() -> None:
    assert find("Bestelnummer 111222333 is verzonden.", "nl") == []
    assert find("Mijn BSN is 111222333.", "nl") == [("NL_BSN", "111222333")]


def test_without_a_language_the_numbers_of_all_are_found() -> None:
    text = "111222333, 12345678Z, RSSMRA85T10A562S"

    assert {kind for kind, _ in find(text, None)} == {"NL_BSN", "ES_NIF", "IT_FISCAL_CODE"}


@pytest.mark.parametrize(
    "piece", ["a", "1", "1 ", "+", "@", "a@", "a.", "::", "(", "1-", "A ", "http://"]
)
def test_monotonous_texts_are_read_to_their_end(piece: str) -> None:
    ask(PATTERNS, [piece * (20_000 // len(piece))], "en")
