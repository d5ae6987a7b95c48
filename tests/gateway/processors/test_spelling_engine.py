"""What is corrected in texts, and what is left as it is."""

from __future__ import annotations

import msgspec
import pytest

from bench.prompt_attacks import read_corpus
from gateway.processors.engines.language import handle as detect
from gateway.processors.engines.spelling import handle, read_words
from gateway.processors.registry import PROCESSORS
from gateway.processors.spellcheck import BATCH_CHARS, parts_of, put
from gateway.processors.spelling_levels import LANGUAGES


def correct(text: str, language: str = "en", level: str = "default") -> str:
    answer = handle({"texts": [text], "language": language, "level": level})
    [found] = msgspec.convert(answer["found"], list[list[tuple[int, int, str]]])
    return put(text, found)


def test_there_is_a_list_of_words_for_every_language() -> None:
    for language in LANGUAGES:
        words = read_words(language)
        assert len(words.counts) > 50_000
        assert set("aeiou") < set(words.letters)
    assert PROCESSORS["spellcheck"].languages == LANGUAGES


SLIPS = {
    "one letter more": ("The accommmodation was fine.", "The accommodation was fine."),
    "one letter less": ("The pakage came.", "The package came."),
    "another letter": ("The lettar came.", "The letter came."),
    "two exchanged": ("It is becuase of you.", "It is because of you."),
    "in quotation marks": ('He said "pakage" twice.', 'He said "package" twice.'),
    "in bold": ("A **pakage** came.", "A **package** came."),
    "with a hyphen": ("A pakage-like thing.", "A package-like thing."),
    "in a list": ("- the pakage\n- the adress", "- the package\n- the address"),
    "after unseen ends": ("The pakage.\r\nThe adress.\r\n", "The package.\r\nThe address.\r\n"),
}


@pytest.mark.parametrize("name", SLIPS)
def test_slips_are_corrected(name: str) -> None:
    text, right = SLIPS[name]

    assert correct(text) == right


LEFT = {
    "fenced code": "Run:\n```\npakage adress\n```\n",
    "fenced code, tildes": "~~~python\npakage = 1\n~~~",
    "code without an end": "Run:\n```sh\npakage adress\n",
    "code in a line": "Call `pakage` and ``adress ` pakage``.",
    "indented code": "Run this:\n\n    pakage adress\n",
    "a link": "See https://example.com/pakage?adress=pakage and www.pakage.example/adress.",
    "an email address": "Write to pakage.adress@example.com now.",
    "a Markdown link": "See [the page](pakage adress).",
    "a path": "It is in /var/pakage/adress or pakage\\adress.",
    "a file": "Open pakage.txt and adress.json now.",
    "a placeholder": "Dear <INF_PERSON_1> and <pakage adress>.",
    "template variables": "Dear {{ pakage.adress }} and {pakage} and %(pakage)s.",
    "an identifier": "The field pakage_adress, pakageAdress, pakage2 and $pakage.",
    "a call": "Use pakage() and obj.pakage here.",
    "tags and handles": "Ask @pakage about #adress.",
    "a formula": "It is $pakage + adress$ and $$pakage$$.",
    "HTML": 'Use <a href="pakage" title="adress">.',
    "JSON": 'It is {"pakage": "adress"} here.',
    "lines of JSON": '{\n  "pakage": "the adress",\n  "list": ["pakage"]\n}',
    "names": "Pakage and Adress met Jansen in Thirsk.",
    "capitals": "The PAKAGE of NASSA.",
    "short words": "Teh ot si.",
    "numbers": "It is 12th and 3rd, 5kg.",
    "British spelling": "The colour of the neighbour, organised in the theatre centre.",
    "another language": "De bezorger heeft het pakket gisteren bij de buren afgegeven.",
    "nothing like a word": "zxqwv bcdfg",
    "elisions": "It is the l'adresse and d'pakage'x.",
}


@pytest.mark.parametrize("name", LEFT)
@pytest.mark.parametrize("level", ["default", "picky"])
def test_what_is_no_prose_is_left_as_it_is(name: str, level: str) -> None:
    assert correct(LEFT[name], level=level) == LEFT[name]


def test_prose_beside_code_is_corrected() -> None:
    text = "The pakage:\n```\npakage\n```\nand `pakage` in a pakage."

    assert correct(text) == "The package:\n```\npakage\n```\nand `pakage` in a package."


@pytest.mark.parametrize("language", LANGUAGES)
def test_texts_without_slips_are_left_as_they_are(language: str) -> None:
    texts = [
        one.text
        for one in read_corpus()
        if one.language == language and one.kind in ("fiction", "mail", "security")
    ]

    changed = [text for text in texts if correct(text, language) != text]

    assert len(texts) > 50
    # The Portuguese list spells as in Portugal.
    assert len(changed) <= (1 if language == "pt" else 0), changed


@pytest.mark.parametrize(
    "text", ["", "\n" * 9_000, "`" * 30_000, "<" * 9_000, "{{" * 9_000, "\x00"]
)
def test_texts_of_every_form_are_read(text: str) -> None:
    assert correct(text) == text
    assert detect({"text": text}) == {"candidates": []}


def test_what_is_too_long_for_a_word_is_left_as_it_is() -> None:
    text = "a" * 30_000 + " pakage " + "\u00e9" * 30_000

    assert correct(text) == text.replace("pakage", "package")


def test_long_texts_are_cut_outside_of_code() -> None:
    lines = [f"Line {n} of the text.\n" for n in range(5_000)]
    code = "```\n" + "x = 1\n" * 20_000 + "```\n"

    parts = parts_of("".join(lines) + code + "".join(lines))

    assert "".join(parts) == "".join(lines) + code + "".join(lines)
    assert [part for part in parts if part.count("```") % 2] == []
    assert max(len(part) for part in parts if "```" not in part) <= BATCH_CHARS
