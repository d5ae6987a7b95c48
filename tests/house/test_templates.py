"""The rules for templates that the eye forgets: partials, policy, forms, icons."""

from __future__ import annotations

import re
from zipfile import ZipFile

import lucide
import pytest

from tests.house.tree import ROOT, text_of, tracked

OURS = [path for path in tracked(".html") if path.startswith("templates/")]
PARTIALS = [path for path in OURS if path.rsplit("/", 1)[-1].startswith("_")]
PAGES = [path for path in OURS if path not in PARTIALS]
COMMENT = re.compile(r"^\{# .*\bTakes: .+ #\}$")
TARGET = re.compile(r"Swap target #([\w-]+)")
FILLED_INSIDE = {"modal", "palette-results"}  # what is swapped is their content, not they
ICON = re.compile(r'\{% icon "([\w-]+)"|icon_name="([\w-]+)"|icon="([\w-]+)"')


@pytest.mark.parametrize("path", PARTIALS)
def test_a_partial_says_what_it_takes_in_its_first_line(path: str) -> None:
    assert COMMENT.match(text_of(path).splitlines()[0])


@pytest.mark.parametrize("path", PARTIALS)
def test_a_partial_never_extends_and_its_root_is_its_swap_target(path: str) -> None:
    text = text_of(path)
    target = TARGET.search(text.splitlines()[0])

    assert "{% extends" not in text
    if target and target[1] not in FILLED_INSIDE:
        assert re.search(r"<\w+[^>]*>", text)[0].count(f'id="{target[1]}')  # type: ignore[index]


def matches(pattern: str, *, flags: int = 0) -> list[tuple[str, str]]:
    """Return what fits in all templates, each with where it is."""
    wanted = re.compile(pattern, flags)
    return [(path, found[0]) for path in OURS for found in wanted.finditer(text_of(path))]


def test_nothing_is_inline_that_the_policy_forbids() -> None:
    scripts = matches(r"<script[^>]*>")
    runs = [script for script in scripts if 'type="application/json"' not in script[1]]

    assert matches(r" style=|<style") == []
    assert matches(r"\son\w+=|javascript:|hx-on") == []
    assert runs
    assert [
        (path, tag)
        for path, tag in runs
        if 'nonce="{{ csp_nonce }}"' not in tag or "src=" not in tag
    ] == []


def test_every_form_that_posts_carries_the_token() -> None:
    forms = matches(r'<form[^>]*method="post".*?</form>', flags=re.DOTALL)

    assert forms
    assert [(path, form) for path, form in forms if "{% csrf_token %}" not in form] == []


def test_nothing_is_marked_safe() -> None:
    assert matches(r"\|safe\b|autoescape off") == []


def test_nothing_is_loaded_from_elsewhere() -> None:
    assert matches(r"(?:src|href|action)=[\"'](?:https?:)?//") == []


def test_every_icon_exists() -> None:
    with ZipFile(f"{lucide.__path__[0]}/lucide.zip") as archive:
        known = {name.removesuffix(".svg") for name in archive.namelist()}
    sources = [*OURS, *(path for path in tracked(".py") if path.startswith("dashboard/"))]

    used = {name for path in sources for found in ICON.findall(text_of(path)) for name in found}

    assert used - known == {""}


def test_every_stylesheet_and_script_of_ours_is_used() -> None:
    pages = "".join(text_of(path) for path in OURS)
    files = [path.removeprefix("static/") for path in tracked(".css", ".js", ".svg")]

    assert [name for name in files if (ROOT / "static" / name).exists() and name not in pages] == []


@pytest.mark.parametrize("path", tracked(".js"))
def test_scripts_say_what_they_are_for_and_build_no_markup(path: str) -> None:
    text = text_of(path)

    assert text.startswith("// ")
    assert not re.search(r"innerHTML|insertAdjacentHTML|outerHTML|document\.write|\beval\(", text)
