"""A new user's questions, answered in the browser: in how many clicks, and where they lead."""

from __future__ import annotations

import re
from datetime import datetime

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.dashboard.browser import OVERFLOW, Watched, sign_in, watched_page
from tests.dashboard.fill_home import UNKNOWN_MODEL
from tests.support.servers import GatewayServer

pytestmark = pytest.mark.slow

KB = 1_024


class Visitor:
    """Counts what a person does: each click, and each field filled in with Enter."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.actions = 0

    def click(self, target: Locator) -> None:
        self.actions += 1
        target.click()

    def type(self, target: Locator, text: str) -> None:
        self.actions += 1
        target.fill(text)
        target.press("Enter")


def test_which_provider_caused_an_error_spike_and_since_when_is_on_the_first_page(
    watched: Watched,
) -> None:
    visitor = Visitor(watched.page)
    watched.page.reload()
    card = watched.page.locator("section", has_text="Errors by provider").last
    row = card.locator("tbody tr").filter(has_text="deepseek")
    expect(row).to_contain_text("spike since")
    expect(row.locator(".error-spark")).to_be_visible()
    began = datetime.fromisoformat(row.locator(".cell-sub time").get_attribute("datetime") or "")
    visitor.click(row.get_by_role("link"))

    expect(watched.page.locator("#filter-provider")).to_have_value("deepseek")
    rows = watched.page.locator("#calls tbody tr")
    expect(rows.first).to_contain_text("Provider error")
    times = rows.locator("time").evaluate_all("times => times.map((time) => time.dateTime)")
    assert visitor.actions == 1
    assert len(times) == 50, "those of the spike, the newest first"
    assert datetime.fromisoformat(times[-1]) >= began
    assert watched.take_problems() == []


def test_a_refused_call_is_found_by_the_model_it_asked_for(watched: Watched) -> None:
    visitor = Visitor(watched.page)
    page = watched.page
    visitor.click(page.get_by_role("link", name="Calls", exact=True))
    model = page.get_by_label("Model, requested or served")
    visitor.type(model, UNKNOWN_MODEL)

    rows = page.locator("#calls tbody tr")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("Refused")
    expect(rows).to_contain_text("model_not_found")
    assert visitor.actions == 2
    assert watched.take_problems() == []


def test_bars_lead_to_the_calls_behind_them(watched: Watched) -> None:
    page = watched.page
    bar = page.locator("#overview .chart-card").first
    expect(bar.get_by_role("heading", name="Calls by status")).to_be_visible()
    failed = bar.locator("rect.series-upstream_error").last
    label = failed.locator("xpath=..").get_attribute("data-label")
    failed.click(force=True)

    page.wait_for_url(re.compile(r"calls\?.*from=.*to=.*status=upstream_error"))
    expect(page.locator("#filter-status")).to_have_value("upstream_error")
    rows = page.locator("#calls tbody tr")
    assert set(rows.locator(".badge").all_inner_texts()) == {"Provider error"}
    assert label
    start = re.search(r"(\d\d:\d\d) to", label)
    chosen = page.locator("#calls-from").input_value()
    assert start
    assert chosen.endswith(f"T{start[1]}")
    assert watched.take_problems() == []


def test_bars_lead_to_the_calls_behind_them_by_keyboard(watched: Watched) -> None:
    page = watched.page
    page.locator("#overview [data-plot]").first.focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowUp")
    expect(page.locator(".tooltip-row[data-chosen]")).to_have_count(1)
    page.keyboard.press("Enter")

    page.wait_for_url(re.compile(r"calls\?.*from=.*to=.*status="))
    expect(page.locator("#filter-status")).not_to_have_value("")
    assert watched.take_problems() == []


def test_without_scripts_a_charts_table_leads_to_the_calls(
    browser: Browser, lived_in_gateway: GatewayServer
) -> None:
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        watched = Watched(page, f"http://127.0.0.1:{lived_in_gateway.port}")
        sign_in(watched, lived_in_gateway.email, lived_in_gateway.password)
        chart = page.locator(".chart-card").first
        chart.get_by_text("Show as a table").click()
        link = chart.locator(".chart-figures a").last
        address = link.get_attribute("href") or ""
        link.click()

        page.wait_for_url(f"**{address}")
        assert re.search(r"\?from=\S+&to=\S+$", address)


def test_dates_in_the_wrong_order_are_refused_beside_the_field(watched: Watched) -> None:
    page = watched.page
    page.get_by_label("Custom date").click()
    page.locator("#period-from").fill("2026-11-03T10:00")
    page.locator("#period-to").fill("2026-11-01T10:00")
    page.get_by_role("button", name="Show", exact=True).click()

    error = page.locator("#period-to_error")
    expect(error).to_be_visible()
    expect(page.locator("#period-from")).to_have_value("2026-11-03T10:00")
    assert watched.check("reversed") == []


def test_the_first_page_is_small_when_loaded_for_the_first_time(
    browser: Browser, lived_in_gateway: GatewayServer
) -> None:
    with watched_page(browser, lived_in_gateway) as watched:
        sign_in(watched, lived_in_gateway.email, lived_in_gateway.password)
        overview = watched.page.url
        session = watched.page.context.new_cdp_session(watched.page)
        session.send("Network.enable")
        session.send("Network.clearBrowserCache")
        received: list[float] = []
        session.on(
            "Network.loadingFinished", lambda seen: received.append(seen["encodedDataLength"])
        )
        watched.page.goto(overview, wait_until="networkidle")

    assert len(received) > 10, "the page with its styles, scripts and pictures"
    assert sum(received) < 100 * KB


# What an amount may come to in 64 bits, in letters 15 % wider than here.
LONG_AMOUNTS = """
for (const value of document.querySelectorAll(".stat-value, .stat-delta")) {
  value.textContent = "$9,223,372,036.854775807 in 9,223,372 entries";
  value.style.setProperty("letter-spacing", "0.09em");
}
"""
OUTSIDE = """
[...document.querySelectorAll(".stat-value, .stat-delta")].filter((value) => {
  const range = document.createRange();
  range.selectNodeContents(value);
  const card = value.closest(".stat").getBoundingClientRect();
  return [...range.getClientRects()].some(
    (line) => line.right > card.right || line.bottom > card.bottom || line.left < card.left);
}).length
"""


@pytest.mark.parametrize("width", [390, 1024, 1440])
def test_amounts_of_any_length_stay_in_their_card(watched: Watched, width: int) -> None:
    watched.page.set_viewport_size({"width": width, "height": 900})
    for path in ("/", "/credits"):
        watched.open(path)
        watched.page.evaluate(LONG_AMOUNTS)

        assert watched.page.locator(".stat-value").count() >= 3
        assert watched.page.evaluate(OUTSIDE) == 0
        assert watched.page.evaluate(OVERFLOW) <= 0
