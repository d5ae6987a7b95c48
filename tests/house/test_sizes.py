"""Nothing grows past what a reader can hold, and everything has its place."""

from __future__ import annotations

import ast

from tests.house.tree import text_of, tracked

LONGEST_SOURCE = 400
LONGEST_TEMPLATE = 150
LONGEST_TEMPLATE_LINE = 160
TOP_LEVEL = {
    *("manage.py", "pyproject.toml", "README.md", "Makefile", "CHANGELOG.md", "CONTRIBUTING.md"),
    *("LICENSE", "requirements.lock", "gateway", "accounts", "keys", "dashboard", "templates"),
    *("static", "tests", "bench", "docs", "deploy"),
}
VAGUE = {"utils", "helpers", "common", "misc", "util", "helper", "stuff"}


def line_count(path: str) -> int:
    return len(text_of(path).splitlines())


def test_no_source_file_is_longer_than_400_lines() -> None:
    sources = tracked(".py", ".js", ".css")

    too_long = {path: line_count(path) for path in sources if line_count(path) > LONGEST_SOURCE}

    assert too_long == {}


def test_no_template_is_longer_than_150_lines() -> None:
    templates = [path for path in tracked(".html", ".txt") if "templates/" in path]

    too_long = {p: line_count(p) for p in templates if line_count(p) > LONGEST_TEMPLATE}

    assert too_long == {}


def test_no_line_of_a_template_is_longer_than_160_characters() -> None:
    templates = [path for path in tracked(".html", ".txt") if "templates/" in path]

    too_long = [
        f"{path}:{number}"
        for path in templates
        for number, line in enumerate(text_of(path).splitlines(), start=1)
        if len(line) > LONGEST_TEMPLATE_LINE
    ]

    assert too_long == []


def test_the_top_level_holds_what_was_agreed() -> None:
    entries = {path.split("/")[0] for path in tracked()}

    strangers = {entry for entry in entries - TOP_LEVEL if not entry.startswith(".")}

    assert strangers == set()


def test_modules_are_named_after_what_they_do() -> None:
    stems = {path: path.rsplit("/", 1)[-1].removesuffix(".py") for path in tracked(".py")}

    vague = [path for path, stem in stems.items() if stem in VAGUE or stem.startswith("base_")]

    assert vague == []


def test_every_module_says_what_it_is() -> None:
    modules = [p for p in tracked(".py") if "/migrations/" not in p and text_of(p).strip()]

    silent = [path for path in modules if not ast.get_docstring(ast.parse(text_of(path)))]

    assert silent == []
