"""The pages at widths between a telephone's and a desk's: nothing is cut off, nothing sideways."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser

from tests.dashboard.browser import (
    BY_LINK,
    OVERFLOW,
    PAGES,
    Watched,
    find_address,
    sign_in,
    watched_page,
)
from tests.support.servers import GatewayServer

pytestmark = pytest.mark.slow

# Frames that may scroll sideways show words of any length; a table of figures may not.
SCROLLING = """
[...document.querySelectorAll(".table-wrap")]
  .filter((frame) => frame.checkVisibility() && frame.scrollWidth > frame.clientWidth + 1)
  .map((frame) => `${frame.ariaLabel} by ${frame.scrollWidth - frame.clientWidth} px`)
"""

# Sentences may break anywhere, and would stand a letter wide if others left them no room.
SQUEEZED = """
[...document.querySelectorAll("td.cell-long")]
  .filter((cell) => cell.clientWidth < 120)
  .map((cell) => `a cell of ${cell.clientWidth} px: ${cell.innerText.slice(0, 20)}`)
"""


def resize(watched: Watched, width: int) -> None:
    watched.page.set_viewport_size({"width": width, "height": 900})


def test_no_page_and_no_table_scrolls_sideways(watched: Watched) -> None:
    found = []
    addresses = PAGES | {name: find_address(watched, name) for name in BY_LINK}
    for name, path in addresses.items():
        watched.open(path)
        for width in (1280, 1024, 768, 390):
            resize(watched, width)
            if too_wide := watched.page.evaluate(OVERFLOW):
                found.append(f"{name} at {width} px: the page by {too_wide} px")
            parts = watched.page.evaluate(SCROLLING) + watched.page.evaluate(SQUEEZED)
            found += [f"{name} at {width} px: {part}" for part in parts]

    assert found == []


def test_columns_go_in_the_order_of_their_worth(watched: Watched) -> None:
    watched.open("/calls")
    seen = {}
    for width in (390, 1024, 1280, 1440):
        resize(watched, width)
        heads = watched.page.locator("main thead th").filter(visible=True)
        seen[width] = [text.split("\n")[0] for text in heads.all_inner_texts()]
    bar = watched.page.locator(".bar-timing").first.bounding_box()

    narrow = ["Time, UTC", "Status", "Cost"]
    assert seen[390] == narrow
    assert seen[1024] == [*narrow[:2], "Model, key", "Cost", "Total"]
    assert seen[1280] == [*narrow[:2], "Model", "Key", "Tokens in / out", "Cost", "Total", "Added"]
    assert len(seen[1440]) == len(seen[1280]) + 1
    assert bar
    assert bar["width"] > 80


def test_on_paper_there_is_the_page_alone(
    browser: Browser, lived_in_gateway: GatewayServer
) -> None:
    with watched_page(browser, lived_in_gateway, theme="dark") as watched:
        sign_in(watched, lived_in_gateway.email, lived_in_gateway.password)
        watched.page.emulate_media(media="print")
        watched.open("/calls")

        assert watched.page.locator("main tbody tr").first.is_visible()
        for part in (".sidebar", ".filters", ".toasts"):
            assert not watched.page.locator(part).first.is_visible()
        ground = "getComputedStyle(document.documentElement).colorScheme"
        assert watched.page.evaluate(ground) == "light"
