"""The drawing in the docstring is the code: neither may change alone."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gateway.core import error_page, errors
from gateway.core.errors import GatewayError
from tests.house.tree import text_of

BRANCH = re.compile(r"^(?P<rails>[│ ]*)[├└]── (?P<name>\w+)")


def drawn() -> Iterator[tuple[int, str]]:
    yield 0, "GatewayError"
    for line in (errors.__doc__ or "").splitlines():
        if branch := BRANCH.match(line):
            yield len(branch["rails"]) // 4 + 1, branch["name"]


def defined(cls: type[GatewayError] = GatewayError, depth: int = 0) -> Iterator[tuple[int, str]]:
    yield depth, cls.__name__
    for child in cls.__subclasses__():
        if child.__module__ == errors.__name__:
            yield from defined(child, depth + 1)


def every_class() -> Iterator[type[GatewayError]]:
    names = {name for _, name in defined()}
    yield from (getattr(errors, name) for name in names)


def test_the_drawn_tree_is_the_defined_tree() -> None:
    assert list(drawn()) == list(defined())


def test_every_failure_says_what_it_means() -> None:
    silent = [cls.__name__ for cls in every_class() if not cls.meaning]

    assert silent == []


def test_the_page_of_errors_is_made_from_the_classes() -> None:
    assert text_of("docs/errors.md") == error_page.render()
