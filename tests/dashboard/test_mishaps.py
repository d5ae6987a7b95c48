"""What a person is told in a real browser when something fails, and that haste does no harm."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.dashboard.browser import Watched

pytestmark = pytest.mark.slow

UNREACHED = "The server cannot be reached"
NO_CLIPBOARD = "Object.defineProperty(navigator, 'clipboard', {value: undefined});"
NO_COMMAND = "document.execCommand = () => false;"


def test_what_fails_in_a_dialog_is_said_in_it_once_and_taken_back(watched: Watched) -> None:
    page = watched.page
    watched.open("/keys")
    page.keyboard.press("n")
    dialog = page.get_by_role("dialog", name="New key")
    expect(dialog).to_be_visible()
    page.context.set_offline(True)
    page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Search")
    for letter in "abc":
        with page.expect_event("requestfailed"):
            page.keyboard.press(letter)
    said = palette.get_by_text(UNREACHED)
    expect(said).to_have_count(1)
    page.keyboard.press("Escape")

    expect(dialog).to_be_visible()
    expect(page.locator("#toasts")).to_contain_text(UNREACHED)
    page.context.set_offline(False)
    dialog.get_by_role("button", name="Create key").click()
    expect(dialog.locator(".field-error")).to_be_visible()
    expect(page.get_by_text(UNREACHED)).to_have_count(0)


def test_a_toast_in_a_dialog_can_be_dismissed(watched: Watched) -> None:
    page = watched.page
    watched.open("/keys")
    page.keyboard.press("n")
    page.get_by_label("Label").fill("Never made")
    page.context.set_offline(True)
    page.get_by_role("button", name="Create key").click()
    expect(page.get_by_role("dialog").get_by_text(UNREACHED)).to_be_visible()

    page.get_by_role("dialog").get_by_role("button", name="Dismiss").click()

    expect(page.get_by_text(UNREACHED)).to_have_count(0)
    expect(page.get_by_label("Label")).to_have_value("Never made")


def test_a_page_that_is_too_old_says_so(watched: Watched) -> None:
    page = watched.page
    watched.open("/keys")
    page.keyboard.press("n")
    page.get_by_label("Label").fill("Never made")
    page.context.clear_cookies(name="tollhouse_csrf")

    page.get_by_role("button", name="Create key").click()
    expect(page.get_by_text("this page is too old")).to_be_visible()
    page.keyboard.press("Escape")
    page.locator("summary", has_text="Account of").click()
    page.get_by_role("button", name="Dark").click()

    expect(page.get_by_text("The theme was not changed")).to_be_visible()
    expect(page.locator("html")).not_to_have_attribute("data-theme", "dark")


@pytest.mark.parametrize("address", ["/credits", "/credits/grant"])
def test_a_grant_pressed_twice_is_posted_once(watched: Watched, address: str) -> None:
    page = watched.page
    watched.open(address)
    if address == "/credits":
        page.keyboard.press("n")
    page.get_by_label("Amount (USD)").fill("0.000000001")
    page.get_by_label("Reason").fill(f"Pressed twice on {address}")
    page.get_by_role("button", name="Grant credit").dblclick()

    expect(page.get_by_text("posted as entry")).to_be_visible()
    expect(page.get_by_role("cell", name=f"Pressed twice on {address}", exact=True)).to_have_count(
        1
    )


def test_a_form_pressed_twice_is_sent_once(watched: Watched) -> None:
    page = watched.page
    sent: list[str] = []
    watched.open("/settings")
    page.on("request", lambda request: sent.append(request.method))
    name = page.get_by_label("Name")
    name.fill(name.input_value())
    page.evaluate(
        "const form = document.querySelector('form[action$=name]');"
        "form.requestSubmit(); form.requestSubmit();"
    )

    expect(page.get_by_text("Saved.")).to_be_visible()
    assert sent.count("POST") == 1


@pytest.mark.parametrize(
    ("lacking", "said"), [(NO_CLIPBOARD, "Copied"), (NO_CLIPBOARD + NO_COMMAND, "Press")]
)
def test_copying_works_without_a_clipboard_or_helps(
    watched: Watched, lacking: str, said: str
) -> None:
    page = watched.page
    page.add_init_script(lacking)
    watched.open("/calls?status=ok")
    page.locator("main .row-link").first.click()
    button = page.get_by_role("button", name="Copy Request ID")
    wanted = button.locator("xpath=preceding-sibling::*").inner_text()

    button.click()

    expect(page.get_by_role("button", name=re.compile(f"^{said}"))).to_be_focused()
    if said == "Press":
        assert page.evaluate("String(getSelection())") == wanted
    else:
        page.evaluate("document.body.append(document.createElement('textarea'))")
        page.locator("body > textarea").focus()
        page.keyboard.press("Control+v")
        expect(page.locator("body > textarea")).to_have_value(wanted)


def test_a_long_label_leaves_a_dialog_its_buttons(watched: Watched) -> None:
    page = watched.page
    page.set_viewport_size({"width": 390, "height": 844})
    watched.open("/keys?q=WWWW")
    page.get_by_role("link", name="WWWW").first.click()
    page.get_by_role("link", name="Revoke").click()

    expect(page.get_by_role("dialog").get_by_role("button", name="Close")).to_be_in_viewport()
    wider = "(modal) => modal.scrollWidth > modal.clientWidth"
    assert page.locator("#modal").evaluate(wider) is False


def test_the_way_back_from_a_call_keeps_the_filters(watched: Watched) -> None:
    page = watched.page
    watched.open("/calls?status=ok&period=30d")
    page.locator("main .row-link").first.click()
    page.reload()

    page.locator(".crumb a").click()

    expect(page.get_by_label("Status")).to_have_value("ok")
    expect(page.get_by_label("Period")).to_have_value("30d")
