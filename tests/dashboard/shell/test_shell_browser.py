"""The frame in a browser: links across workspaces, the palette's Enter, waiting, error pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from playwright.sync_api import Error, Page, Route, expect

from tests.dashboard.browser import Watched, find_address

pytestmark = pytest.mark.slow


@contextmanager
def held(page: Page, address: str) -> Iterator[list[Route]]:
    """Keep the requests of an address on their way until the block is left."""
    routes: list[Route] = []
    page.route(address, lambda route: routes.append(route))
    yield routes
    page.unroute(address)
    for route in routes:
        with suppress(Error):  # the page gave it up meanwhile
            route.continue_()


def test_a_link_opens_in_its_workspace_and_the_switcher_keeps_the_page(watched: Watched) -> None:
    page = watched.page
    link = find_address(watched, "call")
    home = page.locator(".sidebar .switcher .truncate").first.inner_text()
    watched.open("/workspaces/new")
    page.get_by_label("Name").fill("Colleagues elsewhere")
    page.get_by_role("button", name="Create workspace").click()
    expect(page.get_by_text("Colleagues elsewhere is ready")).to_be_visible()
    switcher = page.locator(".sidebar .switcher").first
    expect(switcher).to_contain_text("Colleagues elsewhere")

    watched.open(link)
    expect(switcher).to_contain_text(home)
    expect(page.get_by_role("link", name="Calls", exact=True).first).to_be_visible()
    watched.open(link.rpartition("/")[0])
    switcher.click()
    assert watched.check("switcher") == []
    page.get_by_role("link", name="Colleagues elsewhere").click()

    page.wait_for_url(re.compile("/w/colleagues-elsewhere/calls$"), wait_until="load")
    watched.open("/")
    expect(switcher).to_contain_text("Colleagues elsewhere")
    assert page.url.endswith("/w/colleagues-elsewhere")
    assert watched.take_problems() == []


def test_enter_in_the_palette_waits_for_what_was_typed(watched: Watched) -> None:
    page = watched.page
    watched.open("/credits")
    page.keyboard.press("Control+k")
    options = page.get_by_role("dialog", name="Search").get_by_role("option")
    expect(options.first).to_contain_text("Overview")

    with held(page, "**/search?*") as routes:
        page.keyboard.type("invoice")
        page.keyboard.press("Enter")
        expect(page.locator("#palette-results")).to_have_attribute("aria-busy", "true")
        assert page.url.endswith("/credits")
        assert routes

    expect(page.get_by_role("heading", name="Invoice reader")).to_be_visible()
    assert watched.take_problems() == []


def test_enter_before_a_correction_opens_nothing_of_the_mistake(watched: Watched) -> None:
    page = watched.page
    watched.open("/credits")
    page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Search")
    expect(palette.get_by_role("option").first).to_be_visible()

    with held(page, "**/search?*"):
        page.keyboard.type("settings")
        page.keyboard.press("Enter")
        palette.get_by_role("combobox").fill("invoice")

    expect(palette.get_by_role("option")).to_have_count(1)
    expect(palette.get_by_role("option")).to_contain_text("Invoice")
    assert page.url.endswith("/credits")


@pytest.mark.parametrize("path", ["/", "/calls"])
def test_a_menu_closes_when_tab_leaves_it_and_not_before(watched: Watched, path: str) -> None:
    page = watched.page
    watched.open(path)
    menus = page.locator("[data-menu]").filter(visible=True)
    assert menus.count() == 3  # workspaces, dates, the person's own
    for key in ("Tab", "Shift+Tab"):
        for menu in menus.all():
            menu.locator("summary").focus()
            page.keyboard.press("Enter")
            is_inside, steps = "menu => menu.contains(document.activeElement)", 0
            while menu.evaluate(is_inside):
                expect(menu).to_have_attribute("open", "")
                page.keyboard.press(key)
                steps += 1
            expect(menu).not_to_have_attribute("open", "")
            assert steps > 1 or key != "Tab"
    assert watched.take_problems() == []


def test_what_is_about_to_change_is_busy_until_it_has(watched: Watched) -> None:
    page = watched.page
    watched.open("/keys?state=all")
    table = page.locator("#key-table")
    with held(page, "**/keys?*q=prototype*"):
        page.get_by_role("searchbox", name=re.compile("Find")).fill("prototype")
        expect(table).to_have_attribute("aria-busy", "true")
        expect(table).to_have_css("opacity", "0.6")

    expect(table.locator("tbody tr")).to_have_count(1)
    expect(table).not_to_have_attribute("aria-busy", "true")
    expect(table).to_have_css("opacity", "1")
    assert watched.take_problems() == []


def test_a_trial_of_a_limit_shows_that_it_runs(watched: Watched) -> None:
    page = watched.page
    watched.open("/limits/new")
    page.get_by_label("Maximum").fill("five")  # refused at once: a trial takes long
    with held(page, "**/limits/new"):
        page.get_by_role("button", name="Try on the last 7 days").click()
        waiting = page.get_by_role("button", name="Trying…")
        expect(waiting).to_have_attribute("aria-busy", "true")

    expect(page.get_by_label("Maximum")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_role("button", name="Try on the last 7 days")).to_have_count(1)
    expect(waiting).to_have_count(0)
    assert watched.take_problems() == []


def test_a_form_sent_without_htmx_shows_that_its_answer_is_awaited(watched: Watched) -> None:
    page = watched.page
    watched.open("/settings/mcp-servers/new")
    # No page comes of it: the one there is stays as it is while it waits.
    page.route("**/mcp-servers/new", lambda route: route.fulfill(status=204))
    page.get_by_role("button", name="Add MCP server").click()

    waiting = page.get_by_role("button", name="Asking the server…")
    expect(waiting).to_have_attribute("aria-busy", "true")
    assert watched.take_problems() == []


@pytest.mark.parametrize(
    ("path", "title"),
    [
        ("/w/no-such-place/keys", "Page not found"),
        ("/nothing/here", "Page not found"),
        ("/settings/name", "This address is not a page"),
        ("/calls?after=x", "Bad request"),
    ],
)
def test_what_goes_wrong_is_said_inside_the_frame(watched: Watched, path: str, title: str) -> None:
    page = watched.page
    watched.open(path)
    watched.take_problems()  # the browser says the status, too

    expect(page.get_by_role("heading", name=title)).to_be_visible()
    assert watched.check(path) == []
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Keys").click()
    expect(page.get_by_role("heading", name="Keys", exact=True)).to_be_visible()
