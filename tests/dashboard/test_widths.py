"""The pages at widths between a telephone's and a desk's: nothing is cut off, nothing sideways."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Browser

from tests.dashboard.browser import (
    BY_LINK,
    OPEN,
    OVERFLOW,
    PAGES,
    Watched,
    find_address,
    sign_in,
    watched_page,
)
from tests.support.proofs import sample
from tests.support.require import require_font
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


# Text whose place is cut by a box that says nothing of it: neither an ellipsis nor a title, and
# nothing that scrolls. Boxes of a pixel hold words for screen readers.
CUT = """
(() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  const found = [];
  const boxes = new Map();
  const look = (element) => {
    if (boxes.has(element)) return boxes.get(element);
    const style = getComputedStyle(element);
    const clips = style.overflowX === "hidden" || style.overflowX === "clip";
    const frame = clips || style.overflowX === "auto" || style.overflowX === "scroll";
    const holds = element.matches(
      ".card, .stat, .badge, .button, .notice, .tag, td, th, .toast, .segmented label");
    const box = {
      frame, clips, holds, rect: frame || holds ? element.getBoundingClientRect() : null,
      isTold: style.textOverflow === "ellipsis" || element.closest("[title]") !== null,
      isForReaders: style.clipPath !== "none" || style.clip !== "auto",
    };
    boxes.set(element, box);
    return box;
  };
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const text = node.data.trim().slice(0, 30);
    if (!text || !node.parentElement.checkVisibility({ visibilityProperty: true })) continue;
    range.selectNodeContents(node);
    const rect = range.getBoundingClientRect();
    if (rect.width === 0) continue;
    let framed = false;
    for (let at = node.parentElement; at && at !== document.body; at = at.parentElement) {
      const box = look(at);
      if (box.isForReaders) { framed = true; break; }
      if (!box.rect) continue;
      const beyond = Math.max(rect.right - box.rect.right, box.rect.left - rect.left);
      if (beyond > 1 && !(box.frame && !box.clips) && !(box.clips && box.isTold)) {
        found.push(`"${text}" leaves ${at.className || at.tagName} by ${Math.round(beyond)} px`);
      }
      if (box.frame) { framed = true; break; }
    }
    if (!framed && rect.right > document.documentElement.clientWidth + 1) {
      found.push(`"${text}" reaches beyond the page`);
    }
  }
  return found.slice(0, 5);
})()
"""
# 720 and 640: what a page of 1440 and 1280 px has at 200 % zoom.
SIZES = (1440, 1280, 1024, 768, 720, 640, 390, 320)
# The widest font that systems bring, and a narrow one, each with the package that brings it.
FONTS = {
    "wide": ("DejaVu Sans", "fonts-dejavu-core"),
    "narrow": ("Roboto Condensed", "fonts-roboto-unhinted"),
}
SET_FONT = """
(family) => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`:root {
    --font: "${family}" !important; --font-mono: "DejaVu Sans Mono", monospace !important; }`);
  document.adoptedStyleSheets = [sheet];
  return document.fonts.ready.then(() => null);
}
"""


def resize(watched: Watched, width: int) -> None:
    watched.page.set_viewport_size({"width": width, "height": 900})


def measure(watched: Watched) -> list[str]:
    """Return what is too wide or cut on the page as it is now."""
    page = watched.page
    too_wide = page.evaluate(OVERFLOW)
    parts: list[str] = page.evaluate(SCROLLING) + page.evaluate(SQUEEZED) + page.evaluate(CUT)
    return [*([f"the page by {too_wide} px"] if too_wide > 0 else []), *parts]


@pytest.mark.proof
@pytest.mark.parametrize("font", FONTS)
def test_nothing_scrolls_sideways_and_nothing_is_cut(watched: Watched, font: str) -> None:
    family, package = FONTS[font]
    require_font(family, package=package)
    found = []
    # Short: every other page in the one font, the rest in the other, each at some of the widths.
    names = sample([*OPEN, *PAGES, *BY_LINK], step=len(FONTS), start=list(FONTS).index(font))
    for number, name in enumerate(names):
        watched.open((OPEN | PAGES).get(name) or find_address(watched, name))
        watched.page.evaluate(SET_FONT, family)
        for width in sample(SIZES, step=3, start=number):
            resize(watched, width)
            found += [f"{name} at {width} px: {part}" for part in measure(watched)]

    assert found == []


@pytest.mark.parametrize(
    ("days", "start"),
    # The last mark: near the right edge, and as far right as its label still has room.
    [(1, "00:30"), (1, "01:30"), (7, "03:00"), (7, "12:00"), (7, "00:00")],
)
def test_no_label_of_a_chart_leaves_its_card_whenever_it_begins(
    watched: Watched, days: int, start: str
) -> None:
    first_day = datetime.now(UTC) - timedelta(days=days + 1)
    family, package = FONTS["wide"]
    require_font(family, package=package)
    last_day = first_day + timedelta(days=days)
    watched.open(f"/?from={first_day:%Y-%m-%d}T{start}&to={last_day:%Y-%m-%d}T{start}")
    watched.page.evaluate(SET_FONT, family)
    found = {}
    for width in SIZES:
        resize(watched, width)
        found[width] = measure(watched)

    assert watched.page.locator("[data-chart] [data-plot]").count() > 0
    assert found == {width: [] for width in SIZES}


@pytest.mark.parametrize("path", ["/", "/calls", "/calls?model=none-of-them"])
def test_menus_open_within_the_page(watched: Watched, path: str) -> None:
    watched.open(path)
    watched.page.locator("main [data-menu]").evaluate_all("all => all.forEach(m => m.open = true)")
    found = []
    for width in SIZES:
        resize(watched, width)
        for panel in watched.page.locator("main .menu-panel").all():
            box = panel.bounding_box()
            assert box
            if box["x"] < 0 or box["x"] + box["width"] > width:
                found.append((width, box["x"], box["width"]))

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


@pytest.mark.parametrize("path", ["/calls", "/calls?status=failed", "/calls?model=gpt-5-mini&key="])
def test_the_filters_of_calls_are_in_one_line_on_a_desk(watched: Watched, path: str) -> None:
    watched.open(path)
    parts = watched.page.locator(".filters .select, .filters .input, .call-tools > .button")
    tops = {box["y"] for part in parts.all() if (box := part.bounding_box())}

    assert len(tops) == 1


@pytest.mark.parametrize("path", ["/files", "/reference"])
def test_the_narrowest_telephone_shows_the_page_whole(watched: Watched, path: str) -> None:
    resize(watched, 320)
    watched.open(path)

    assert measure(watched) == []


@pytest.mark.parametrize("path", ["/members", "/limits", "/models", "/models/prices"])
def test_emails_and_model_ids_are_read_whole_on_a_telephone(watched: Watched, path: str) -> None:
    resize(watched, 390)
    watched.open(path)
    subjects = watched.page.locator(".cell-email, .cell-subject:visible, .people li > div")
    widths = subjects.evaluate_all("all => all.map(e => [e.scrollWidth, e.clientWidth])")

    assert widths
    assert all(needed <= given for needed, given in widths)


def test_no_line_of_a_tile_begins_or_ends_with_a_dot(watched: Watched) -> None:
    resize(watched, 390)
    watched.open("/")
    # For each part: whether it begins a line, and whether its dot is beyond the edge of the tile.
    parts = watched.page.locator("main .stat-delta .dotted > *").evaluate_all(
        """all => all.map(part => {
          const before = part.previousElementSibling;
          const edge = part.closest(".stat-delta").getBoundingClientRect().left;
          return [!before || before.offsetTop < part.offsetTop,
                  part.getBoundingClientRect().left < edge];
        })"""
    )

    assert [True, True] in parts
    assert [False, False] in parts
    assert all(begins == is_hidden for begins, is_hidden in parts)


@pytest.mark.parametrize("path", ["/credits", "/keys", "/calls", "/models", "/providers"])
def test_links_in_a_row_that_is_a_link_can_be_pressed(watched: Watched, path: str) -> None:
    watched.open(path)
    covered = watched.page.evaluate(
        """() => [...document.querySelectorAll("tr:has(.row-link) :is(a, button)")]
          .filter((e) => e.checkVisibility() && !e.matches(".row-link"))
          .filter((e) => {
            e.scrollIntoView({ block: "center" });
            const box = e.getClientRects()[0];
            const at = document.elementFromPoint(
              box.left + box.width / 2, box.top + box.height / 2);
            return !e.contains(at);
          })
          .map((e) => e.outerHTML.slice(0, 80))"""
    )

    assert covered == []


def test_no_price_of_the_price_list_is_broken_on_a_telephone(watched: Watched) -> None:
    resize(watched, 390)
    watched.open("/models/prices")
    prices = watched.page.locator("main .prices > span")
    lines = prices.evaluate_all(
        "all => all.map(e => e.offsetHeight / parseFloat(getComputedStyle(e).lineHeight))"
    )

    assert len(lines) > 100
    assert max(lines) < 1.5


def test_the_fields_above_the_models_of_a_provider_line_up_on_a_telephone(
    watched: Watched,
) -> None:
    resize(watched, 390)
    watched.open("/models/of-provider")
    form = watched.page.get_by_role("main").get_by_role("search")
    choice, query, button = (
        part.bounding_box()
        for part in (
            form.get_by_label("Provider"),
            form.get_by_label("Find a model"),
            form.get_by_role("button", name="List models"),
        )
    )

    assert choice
    assert query
    assert button
    assert choice["x"] == query["x"]
    assert choice["x"] + choice["width"] == pytest.approx(button["x"] + button["width"], abs=1)


@pytest.mark.parametrize("path", ["/settings/lock", "/keys/new", "/limits/new"])
def test_a_dialog_opened_as_a_page_has_its_buttons_where_forms_have_them(
    watched: Watched, path: str
) -> None:
    watched.open(path)
    actions = watched.page.locator("main .modal-actions")
    boxes = [actions.bounding_box(), actions.locator("[type=submit]").first.bounding_box()]
    cancel = actions.get_by_role("link", name="Cancel").bounding_box()

    assert boxes[0]
    assert boxes[1]
    assert cancel
    assert boxes[1]["x"] == boxes[0]["x"] < cancel["x"]


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
