"""The words that docs/style.md replaced are gone from pages, messages, commands and docs.

Visible text only: the names of functions, columns, addresses and style classes are not words.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

from tests.house.tree import text_of, tracked

STYLE = "docs/style.md"
OLD_ROW = re.compile(r"^\| (?!Say )(?P<say>[^|]+) \| (?P<old>[^|]+) \|$", re.MULTILINE)
TEMPLATES = [path for path in tracked(".html") if path.startswith("templates/")]
DOCS = [path for path in tracked(".md") if re.fullmatch(r"docs/[\w-]+\.md|README\.md", path)]
PROGRAMS = [
    path
    for path in tracked(".py")
    if path.startswith(("dashboard/", "gateway/", "accounts/", "keys/"))
    and not re.search(r"/migrations/|/models[./]", path)
]
# Comments and tags of templates. What stands in quotes within others may be words that are shown.
UNREAD = re.compile(r"\{#.*?#\}|\{%-?\s*(?:url|load)\b.*?%\}", re.DOTALL)
TAG = re.compile(r"\{[{%].*?[%}]\}", re.DOTALL)
QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
PLACEHOLDER = re.compile(r"\{[a-z_]+(?:\.[a-z_]+)*\}")


@cache
def old_words() -> list[str]:
    return [
        word.strip() for row in OLD_ROW.finditer(text_of(STYLE)) for word in row["old"].split(";")
    ]


def strings_of(path: str) -> Iterator[str]:
    """Yield the strings of a program that are no docstrings, each in one piece."""
    tree = ast.parse(text_of(path))
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value.value = None
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def words_of(template: str) -> str:
    """Return the text of a template, and the strings in its tags."""
    return TAG.sub(lambda tag: " ".join(QUOTED.findall(tag[0])), UNREAD.sub(" ", template))


def placeholders_left(path: str) -> list[str]:
    """Return what was to be filled in, in parts of f-strings that have no f themselves."""
    parts = (
        part.value
        for node in ast.walk(ast.parse(text_of(path)))
        if isinstance(node, ast.JoinedStr)
        for part in node.values
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    )
    return [found for part in parts for found in PLACEHOLDER.findall(part)]


def found(text: str) -> list[str]:
    plain = re.sub(r"\s+", " ", text)
    return [word for word in old_words() if _pattern(word).search(plain)]


@cache
def _pattern(word: str) -> re.Pattern[str]:
    """A word with a capital is a label: the same in small letters may stand in a sentence."""
    as_written = word != word.lower()
    return re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", 0 if as_written else re.IGNORECASE)


def test_the_list_is_read() -> None:
    words = old_words()

    assert "its name there" in words
    assert len(words) > 40
    assert found("Choose its name there.") == ["its name there"]


# One test for all files: two thousand tests of a moment each are a quarter of a minute.
def test_pages_say_none_of_the_old_words() -> None:
    assert [(path, old) for path in TEMPLATES for old in found(words_of(text_of(path)))] == []


def test_strings_in_tags_of_templates_are_read() -> None:
    template = '{# Not said #}{{ name|default:"Not said" }}{% if Its.calls %}{% endif %}'

    assert found(words_of(template)) == ["Not said"]


def test_no_message_shows_the_name_of_what_it_was_to_say() -> None:
    assert [(path, left) for path in PROGRAMS for left in placeholders_left(path)] == []


def test_messages_and_commands_say_none_of_the_old_words() -> None:
    said = {path: "\n".join(strings_of(path)) for path in PROGRAMS}

    assert [(path, old) for path, text in said.items() for old in found(text)] == []


def test_docs_say_none_of_the_old_words() -> None:
    docs = [path for path in DOCS if path != STYLE]

    assert [(path, old) for path in docs for old in found(text_of(path))] == []
