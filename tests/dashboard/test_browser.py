"""The pages in a real browser: accessible, within their policy, and usable by keyboard."""

from __future__ import annotations

import re
import secrets

import pytest
from playwright.sync_api import Browser, expect

from tests.dashboard.browser import (
    BY_LINK,
    OPEN,
    PAGES,
    THEMES,
    WIDTHS,
    Theme,
    Watched,
    confirm,
    find_address,
    sign_in,
    watched_page,
)
from tests.dashboard.fill_home import MEMBER_EMAIL
from tests.factories import PASSWORD
from tests.support.proofs import form
from tests.support.servers import GatewayServer
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow

AUTHENTICATOR = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}
SECRET = re.compile(r"sk-gw-[\w-]{43}")


def looks(width: int) -> dict[str, tuple[Theme, ...]]:
    """Return the pages to look at in this width, and in which colours. Short: one look at a page,
    at the next one in another width or other colours."""
    every = dict(enumerate([*OPEN, *PAGES, *BY_LINK]))
    short: dict[str, tuple[Theme, ...]] = {
        name: (THEMES[number // len(WIDTHS) % len(THEMES)],)
        for number, name in every.items()
        if WIDTHS[number % len(WIDTHS)] == width
    }
    return form(short=short, whole=dict.fromkeys(every.values(), THEMES))


@pytest.mark.proof
@pytest.mark.parametrize("width", WIDTHS)
def test_every_page_is_accessible_and_within_its_policy(
    browser: Browser, lived_in_gateway: GatewayServer, width: int
) -> None:
    found, wanted = [], looks(width)
    with watched_page(browser, lived_in_gateway, width=width) as watched:
        for name in wanted.keys() & OPEN.keys():
            watched.open(OPEN[name])
            found += watched.check_in_every_theme(name, wanted[name])
        sign_in(watched, lived_in_gateway.email, lived_in_gateway.password)
        confirm(watched, "/account/app", lived_in_gateway.password)
        for name in [name for name in wanted if name not in OPEN]:
            watched.open(PAGES.get(name) or find_address(watched, name))
            found += watched.check_in_every_theme(name, wanted[name])

    assert found == []


def test_a_key_is_made_by_keyboard_and_its_secret_goes_with_the_dialog(watched: Watched) -> None:
    page = watched.page
    watched.open("/keys")
    page.keyboard.press("n")
    expect(page.get_by_role("dialog", name="New key").get_by_label("Label")).to_be_focused()
    page.keyboard.type("Made by keyboard")
    page.keyboard.press("Enter")

    dialog = page.get_by_role("dialog", name=re.compile("is ready"))
    expect(dialog).to_be_visible()
    secret = dialog.locator("[data-secret]").inner_text()
    problems = watched.check("issued")
    dialog.get_by_role("button", name="Copy the secret").click()
    clipboard = "navigator.clipboard.readText()"  # what it says then stands there for a moment only
    copied = wait_until(lambda: page.evaluate(clipboard), what="the secret to be copied")
    page.keyboard.press("Escape")
    expect(dialog).to_be_visible()
    dialog.get_by_role("link", name="I have copied it").click()

    expect(dialog).to_have_count(0)
    expect(page.get_by_role("link", name="Made by keyboard").first).to_be_visible()
    assert SECRET.fullmatch(secret)
    assert copied == secret
    assert secret not in page.content()
    assert problems == []


def test_a_key_issued_elsewhere_is_imported_in_the_dialog(watched: Watched) -> None:
    page = watched.page
    secret = f"rpk_{secrets.token_hex(16)}"
    watched.open("/keys")
    page.get_by_role("link", name="New key").click()
    dialog = page.get_by_role("dialog", name="New key")
    dialog.get_by_label("Label").fill("Moved program")
    expect(dialog.get_by_label("Key", exact=True)).to_be_hidden()
    dialog.get_by_label("Prefix").select_option("hi-")
    expect(dialog.get_by_label("Compatibility profile")).to_have_value("hyperinfer")
    dialog.get_by_role("radiogroup", name="Secret").get_by_text("Import an existing key").click()
    expect(dialog.get_by_label("Prefix")).to_be_hidden()
    dialog.get_by_label("Key", exact=True).fill(secret)
    problems = watched.check_in_every_theme("import one")
    dialog.get_by_role("button", name="Create key").click()

    expect(page.get_by_role("heading", name="Moved program")).to_be_visible()
    expect(page.get_by_text(f"rpk_…{secret[-4:]}")).to_be_visible()
    assert secret not in page.content()
    assert problems == []


def test_a_file_of_keys_is_looked_at_before_it_is_imported(watched: Watched) -> None:
    page = watched.page
    rows = [f"rpk_{secrets.token_hex(16)},Imported {number}" for number in range(3)]
    text = "\n".join(["secret,name", *rows])
    watched.open("/keys/import")
    page.get_by_label("CSV file").set_input_files(
        {"name": "keys.csv", "mimeType": "text/csv", "buffer": f"{text}\nsk-1234,Weak".encode()}
    )
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_text("line 5, secret")).to_be_visible()
    problems = watched.check("import refused")
    many = "".join(f"{secrets.token_hex(32)},{'a long name ' * 6}\n" for _ in range(2_000))
    assert len(many) > 256 * 1024, "forms are shorter than this file"
    page.get_by_label("CSV file").set_input_files(
        {"name": "many.csv", "mimeType": "text/csv", "buffer": f"sha256,name\n{many}".encode()}
    )
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("heading", name="Import 2,000 keys?")).to_be_visible()
    page.get_by_role("link", name="Choose another file").click()
    page.get_by_label("Or paste the content").fill(text)
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("heading", name="Import 3 keys?")).to_be_visible()
    problems += watched.check_in_every_theme("import preview")
    page.get_by_role("button", name="Import").click()

    expect(page.get_by_role("link", name="Imported 2", exact=True)).to_be_visible()
    assert problems == []


def test_a_workspace_is_locked_by_typing_its_name(watched: Watched) -> None:
    page = watched.page
    watched.open("/settings")
    page.get_by_role("link", name="Lock workspace").click()
    dialog = page.get_by_role("dialog", name=re.compile("^Lock "))
    expect(dialog.get_by_label("Reason")).to_be_focused()
    problems = watched.check_in_every_theme("lock")
    dialog.get_by_label("Reason").fill("A try")
    dialog.get_by_label(re.compile("To confirm")).fill("something else")
    dialog.get_by_role("button", name="Lock workspace").click()

    expect(page.get_by_text("Enter the workspace name")).to_be_visible()
    expect(page.get_by_label("Reason")).to_have_value("A try")
    page.get_by_role("link", name="Cancel").click()
    expect(page.get_by_role("link", name="Lock workspace")).to_be_visible()
    assert problems == []


def test_what_is_wrong_in_a_form_is_shown_beside_it(watched: Watched) -> None:
    page = watched.page
    watched.open("/keys")
    page.get_by_role("link", name="New key").click()
    dialog = page.get_by_role("dialog", name="New key")
    dialog.get_by_role("radiogroup", name="Allowed IPs").get_by_text("Only these").click()
    dialog.get_by_label("IP addresses and networks").fill("203.0.113.7/24")
    dialog.get_by_role("button", name="Create key").click()

    expect(dialog.get_by_text("203.0.113.0/24", exact=False)).to_be_visible()
    expect(dialog.get_by_label("Label")).to_be_focused()
    assert watched.check("form with errors") == []


def test_a_prompt_is_looked_at_without_being_saved(watched: Watched) -> None:
    page = watched.page
    watched.open(find_address(watched, "model"))
    page.get_by_label("Default system prompt").fill("I am {{ model_id }}, call {{ request_id }}.")
    page.get_by_role("button", name="Preview").click()

    shown = page.get_by_label("Prompt that the model gets")
    expect(shown).to_contain_text(re.compile(r"I am [\w.-]+, call [0-9a-f-]{36}\."))
    expect(page.get_by_text("request_id changes with each call")).to_be_visible()
    assert watched.check("preview") == []
    page.reload()
    expect(page.get_by_label("Default system prompt")).to_contain_text("You help the people")


def test_the_palette_goes_where_one_types(watched: Watched) -> None:
    page = watched.page
    watched.open("/credits")
    page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Search")
    expect(palette.get_by_role("option").first).to_be_visible()
    problems = watched.check("palette")
    page.keyboard.type("invoice")
    expect(palette.get_by_role("option")).to_have_count(1)
    expect(palette.get_by_role("option", selected=True)).to_be_visible()
    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", name="Invoice reader")).to_be_visible()
    assert problems == []


def test_letters_go_places_and_rows_are_walked(watched: Watched) -> None:
    page = watched.page
    page.keyboard.type("gk")  # the second letter has a second
    page.wait_for_url(f"{watched.origin}/w/*/keys", wait_until="load")
    expect(page.get_by_role("heading", name="Keys", exact=True)).to_be_visible()
    links = page.locator("#key-table .row-link")

    page.keyboard.press("j")
    page.keyboard.press("j")

    expect(links.nth(1)).to_be_focused()


def test_typing_narrows_the_list_and_its_address(watched: Watched) -> None:
    page = watched.page
    watched.open("/keys?state=all")
    page.keyboard.press("/")
    page.keyboard.type("prototype")

    expect(page.locator("#key-table tbody tr")).to_have_count(1)
    page.wait_for_url(re.compile(r"q=prototype&state=all"))
    page.reload()
    expect(page.locator("#key-table tbody tr")).to_have_count(1)
    assert watched.take_problems() == []


def test_the_theme_stays_chosen(watched: Watched) -> None:
    page = watched.page
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    light = page.evaluate(ground)
    page.locator("summary", has_text="Account of").click()
    page.get_by_role("button", name="Dark").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    dark = page.evaluate(ground)
    page.reload()

    assert dark != light
    assert page.evaluate(ground) == dark
    assert watched.take_problems() == []


def test_on_a_narrow_screen_the_pages_are_in_a_drawer(
    browser: Browser, lived_in_gateway: GatewayServer
) -> None:
    with watched_page(browser, lived_in_gateway, width=390) as watched:
        sign_in(watched, lived_in_gateway.email, lived_in_gateway.password)
        page = watched.page
        link = page.get_by_role("link", name="Credits", exact=True)
        expect(link).to_be_hidden()
        page.get_by_role("button", name="Open the menu").click()
        expect(link).to_be_visible()
        problems = watched.check("drawer")
        link.click()

        expect(page.get_by_role("heading", name="Credits")).to_be_visible()
        assert problems == []


def test_pages_can_be_read_and_keys_made_without_scripts(
    browser: Browser, lived_in_gateway: GatewayServer
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{lived_in_gateway.origin}/sign-in?next=/keys")
    page.fill("[name=login]", lived_in_gateway.email)
    page.fill("[name=password]", lived_in_gateway.password)
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_role("button", name="Search")).to_be_hidden()
    page.get_by_role("link", name="New key").click()
    page.get_by_label("Label").fill("Made without scripts")
    page.get_by_role("button", name="Create key").click()

    secret = page.locator("[data-secret]").inner_text()
    context.close()
    assert SECRET.fullmatch(secret)


def test_a_passkey_signs_in_without_a_password(
    browser: Browser, lived_in_gateway: GatewayServer
) -> None:
    # Browsers know passkeys for names only, and 127.0.0.1 is none.
    with watched_page(browser, lived_in_gateway, host="localhost") as watched:
        page = watched.page
        device = page.context.new_cdp_session(page)
        device.send("WebAuthn.enable")
        device.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})
        sign_in(watched, MEMBER_EMAIL, PASSWORD)
        confirm(watched, "/account/passkeys/new", PASSWORD)
        page.get_by_label("Name").fill("Test device")
        page.get_by_role("checkbox").check()
        page.get_by_role("button", name="Add").click()
        page.wait_for_url(re.compile("/account/codes|/account/passkeys$"))
        watched.open("/sign-out")
        page.get_by_role("main").get_by_role("button", name="Sign out").click()
        page.wait_for_url(re.compile("/sign-in"), wait_until="load")
        page.get_by_role("button", name="Sign in with a passkey").click()

        expect(page.get_by_role("heading", name="Overview")).to_be_visible()
        assert watched.take_problems() == []
