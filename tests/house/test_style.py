"""The words that docs/style.md replaced are gone from pages, messages, commands and docs.

Visible text only: the names of functions, columns, addresses and style classes are not words.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

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
# Comments and tags of templates, and the attributes that nobody reads.
UNREAD = re.compile(
    r"\{#.*?#\}|\{%-?\s*(?:url|load|if|elif|for|with)\b.*?%\}|\{\{.*?\}\}", re.DOTALL
)


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


def found(text: str) -> list[str]:
    plain = re.sub(r"\s+", " ", text)
    return [word for word in old_words() if _pattern(word).search(plain)]


def _pattern(word: str) -> re.Pattern[str]:
    """A word with a capital is a label: the same in small letters may stand in a sentence."""
    as_written = word != word.lower()
    return re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", 0 if as_written else re.IGNORECASE)


def test_the_list_is_read() -> None:
    words = old_words()

    assert "its name there" in words
    assert len(words) > 40
    assert found("Choose its name there.") == ["its name there"]


@pytest.mark.parametrize("path", TEMPLATES)
def test_pages_say_none_of_the_old_words(path: str) -> None:
    assert found(UNREAD.sub(" ", text_of(path))) == []


@pytest.mark.parametrize("path", PROGRAMS)
def test_messages_and_commands_say_none_of_the_old_words(path: str) -> None:
    assert found("\n".join(strings_of(path))) == []


@pytest.mark.parametrize("path", [path for path in DOCS if path != STYLE])
def test_docs_say_none_of_the_old_words(path: str) -> None:
    assert found(text_of(path)) == []
