"""set_tool: its errors name its options."""

from __future__ import annotations

import pytest

from gateway.models import ToolSetting
from tests.gateway.test_commands import refusal_of

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("words", "start"),
    [
        (("web_search", "--backend", "bing"), "--backend: Unknown service."),
        (("web_search", "--backend", "searxng"), "--base-url: Enter the base URL"),
        (("web_search", "--backend", "tavily"), "--credential-env or --credential-stdin: Enter"),
        (("web_search", "--base-url", "ftp://x"), "--base-url: "),
        (("web_search", "--backend", "static"), "--documents: Enter at least one document."),
        (("image", "--model", "nobody"), "--model: Enter the name of a model"),
        (("datetime", "--price", "101"), "--price: Enter a price from 0 to 100 USD."),
        (("datetime", "--price", "one"), "--price: "),
    ],
)
def test_what_cannot_be_is_refused_by_the_name_of_its_option(
    words: tuple[str, ...], start: str
) -> None:
    assert refusal_of("set_tool", *words).startswith(start)
    assert not ToolSetting.objects.exists()
