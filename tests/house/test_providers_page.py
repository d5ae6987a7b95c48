"""docs/providers.md is made from the catalogue and the adapters."""

from __future__ import annotations

from gateway.providers import page
from tests.house.tree import text_of


def test_the_page_of_providers_is_made_from_the_catalogue() -> None:
    assert text_of("docs/providers.md") == page.render()
