"""Reference pages name everything the code reads, and nothing that it does not."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

from gateway import __version__
from gateway.providers import catalogue
from tests.house.tree import ROOT, text_of, tracked

READ = re.compile(r'read_\w+\(\s*"(TOLLHOUSE_\w+)"(?:,\s*(?:"([^"]*)"|(True|False|[\d_]+)))?')
ROW = re.compile(r"^\| `(TOLLHOUSE_\w+)` \| (?:`([^`]*)`|\*?([^|*]+)\*?) \|", re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")
TEST = re.compile(r"def (test_\w+)")
NAMED_TEST = re.compile(r"\btest_\w+")
NAMED_FILE = re.compile(r"`([\w/.]+\.(?:py|js))`")
SPOKEN = {"False": "no", "True": "yes"}


def documented() -> dict[str, str]:
    return {name: code or words for name, code, words in ROW.findall(text_of("docs/settings.md"))}


def read_by_settings() -> dict[str, str]:
    found = READ.findall(text_of("gateway/settings.py"))
    return {name: text or SPOKEN.get(word, word.replace("_", "")) for name, text, word in found}


@cache
def names_of_tests() -> set[str]:
    """Return the names of all tests and of the modules they are in."""
    functions = {name for path in tracked(".py") for name in TEST.findall(text_of(path))}
    return functions | {Path(path).stem for path in tracked(".py")}


def test_every_setting_is_documented_and_nothing_else() -> None:
    not_ours = {"TOLLHOUSE_REQUIRE"}  # read by the tests

    assert set(documented()) - not_ours == set(read_by_settings())


def test_documented_defaults_are_the_defaults() -> None:
    shown = documented()
    defaults = {name: text for name, text in read_by_settings().items() if text}

    wrong = {n: (shown[n], text) for n, text in defaults.items() if shown[n] != text}

    assert wrong == {}


def test_every_provider_key_is_documented() -> None:
    page = text_of("docs/settings.md")

    names = [name for kind in catalogue.ALL for name in kind.env_vars]

    missing = [name for name in names if f"`{name}`" not in page]

    assert missing == []


def test_the_newest_numbered_heading_of_the_changelog_is_the_version() -> None:
    headings = re.findall(r"^## (.+)$", text_of("CHANGELOG.md"), re.MULTILINE)
    project = tomllib.loads(text_of("pyproject.toml"))["project"]

    assert headings[0] == "Unreleased"
    assert headings[1].split()[0] == __version__ == project["version"]


def test_every_command_is_in_the_operations_manual() -> None:
    folders = [p for p in tracked(".py") if "/management/commands/" in p]
    commands = {Path(p).stem for p in folders} - {"__init__"}

    missing = [name for name in sorted(commands) if f"`{name}" not in text_of("docs/operations.md")]

    assert missing == []


@pytest.mark.parametrize("page", tracked(".md"))
def test_no_link_leads_nowhere(page: str) -> None:
    folder = (ROOT / page).parent

    broken = [link for link in LINK.findall(text_of(page)) if not (folder / link).exists()]

    assert broken == []


@pytest.mark.parametrize("page", [page for page in tracked(".md") if "/adr/" not in page])
def test_tests_and_modules_that_pages_name_exist(page: str) -> None:
    """Decisions are not edited later, so they may name what is gone."""
    text = text_of(page)
    files = ["/" + path for path in tracked()]

    missing = [
        *(name for name in NAMED_TEST.findall(text) if name not in names_of_tests()),
        *(p for p in NAMED_FILE.findall(text) if not any(f.endswith("/" + p) for f in files)),
    ]

    assert missing == []


def test_every_decision_is_in_the_list() -> None:
    pages = {p.rsplit("/", 1)[-1] for p in tracked(".md") if p.startswith("docs/adr/0")}

    assert {page for page in pages if f"({page})" not in text_of("docs/adr/README.md")} == set()


def test_decisions_named_in_code_exist() -> None:
    named = {
        number
        for path in tracked(".py")
        for number in re.findall(r"docs/adr/(\d{4})", text_of(path))
    }
    written = {Path(p).name[:4] for p in tracked(".md") if p.startswith("docs/adr/")}

    assert named <= written
