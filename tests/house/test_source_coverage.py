"""docs/source-coverage.md lists every item of the source products once, with tests that exist."""

from __future__ import annotations

import ast
import re

from tests.house.tree import text_of, tracked

PAGE = "docs/source-coverage.md"
ROW = re.compile(r"^\| (S\d-\d\d) \| ([^|]+) \| (.+) \|$", re.MULTILINE)
LINK = re.compile(r"\[`(\w+)`\]\(\.\./([\w/.]+)\)")
PENDING = re.compile(r"pending: needs \S")
# How many items each product has.
ITEMS = {"S0": 46, "S1": 62, "S2": 29, "S3": 42, "S4": 15}


def linked() -> set[tuple[str, str]]:
    """Return every test that the page links, with its file."""
    return set(LINK.findall(text_of(PAGE)))


def written() -> set[tuple[str, str]]:
    """Return every test that is named after an item, with its file."""
    return {
        (node.name, path)
        for path in tracked(".py")
        if path.startswith("tests/sources/")
        for node in ast.walk(ast.parse(text_of(path)))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_S")
    }


def test_every_item_is_listed_once_and_in_order() -> None:
    listed = [item for item, _, _ in ROW.findall(text_of(PAGE))]

    expected = [f"{source}-{n:02}" for source, count in ITEMS.items() for n in range(1, count + 1)]
    assert listed == expected


def test_every_item_has_a_test_or_says_what_it_waits_for() -> None:
    rows = ROW.findall(text_of(PAGE))

    bare = [item for item, _, proof in rows if not LINK.search(proof) and not PENDING.search(proof)]

    assert bare == []


def test_every_linked_test_exists() -> None:
    assert linked() - written() == set()


def test_every_test_of_an_item_is_linked_in_its_row() -> None:
    rows = {item: proof for item, _, proof in ROW.findall(text_of(PAGE))}

    astray = {
        name for name, path in written() if f"[`{name}`](../{path})" not in rows[item_of(name)]
    }

    assert astray == set()


def item_of(test: str) -> str:
    """Return the item that a test is named after: S0-07 for test_S0_07_stream_defaults."""
    return test[5:10].replace("_", "-")
