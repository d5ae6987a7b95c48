"""Nothing grows past what a reader can hold."""

from __future__ import annotations

from tests.house.tree import ROOT, tracked

LONGEST_SOURCE = 400
LONGEST_TEMPLATE = 150


def line_count(path: str) -> int:
    return len((ROOT / path).read_text().splitlines())


def test_no_source_file_is_longer_than_400_lines() -> None:
    sources = tracked(".py", ".js", ".css")

    too_long = {path: line_count(path) for path in sources if line_count(path) > LONGEST_SOURCE}

    assert too_long == {}


def test_no_template_is_longer_than_150_lines() -> None:
    templates = tracked(".html", ".txt")

    too_long = {p: line_count(p) for p in templates if line_count(p) > LONGEST_TEMPLATE}

    assert too_long == {}
