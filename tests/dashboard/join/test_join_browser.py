"""From an invitation to a key and out again, as people do it: two browsers and a program (A23)."""

from __future__ import annotations

import pytest
from openai import AuthenticationError, OpenAI
from playwright.sync_api import Browser, expect

from tests.dashboard.browser import Watched, sign_in, watched_page
from tests.factories import PASSWORD
from tests.support.servers import GatewayServer
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow

EMAIL = "bo@example.com"


def invite(watched: Watched) -> str:
    """Invite EMAIL by keyboard; return the link that is shown."""
    page = watched.page
    watched.open("/members")
    page.keyboard.press("n")
    expect(page.get_by_role("dialog", name="Invite a member").locator(":focus")).to_have_count(1)
    page.keyboard.type(EMAIL)
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name=f"Invite link for {EMAIL}")
    link = dialog.locator("[data-secret]").inner_text()
    assert watched.check("invited") == []
    dialog.get_by_role("link", name="I have copied it").click()
    expect(dialog).to_have_count(0)
    expect(page.get_by_text(EMAIL)).to_be_visible()
    assert link not in page.content()
    return link


def join(watched: Watched, link: str) -> None:
    """Open the link as somebody who has no account, and become somebody who has."""
    page = watched.page
    page.goto(link)
    page.wait_for_url(f"{watched.origin}/join/accept", wait_until="load")
    assert watched.check("accept") == []
    page.get_by_label("Your name").fill("Bo")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Create account and join").click()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()


def make_key(watched: Watched) -> str:
    page = watched.page
    watched.open("/keys/new")
    page.get_by_label("Label").fill("Bo's own")
    page.get_by_role("button", name="Create key").click()
    return page.locator("[data-secret]").inner_text()


def remove(watched: Watched) -> None:
    page = watched.page
    watched.open("/members")
    page.get_by_role("link", name=f"Remove {EMAIL}").click()
    dialog = page.get_by_role("dialog", name=f"Remove {EMAIL}?")
    expect(dialog.get_by_text("Revoke them")).to_be_visible()
    assert watched.check("remove") == []
    dialog.get_by_role("button", name="Remove").click()
    expect(page.get_by_text("1 key is revoked")).to_be_visible()


def test_a_key_lives_as_long_as_the_membership_of_who_made_it(
    browser: Browser, lived_in_gateway: GatewayServer
) -> None:
    server = lived_in_gateway
    with watched_page(browser, server) as boss, watched_page(browser, server) as guest:
        sign_in(boss, server.email, server.password)
        join(guest, invite(boss))
        client = OpenAI(base_url=server.base_url, api_key=make_key(guest), max_retries=0)

        def call() -> str:
            messages = [{"role": "user", "content": "Hello"}]
            try:
                client.chat.completions.create(model=server.model, messages=messages)  # type: ignore[arg-type]
            except AuthenticationError as refusal:
                return str(refusal.code)
            return "answered"

        wait_until(lambda: call() == "answered", what="the key to be known")
        remove(boss)
        wait_until(lambda: call() == "invalid_api_key", what="the key to be refused")
        guest.open("/keys")

        assert "You are not in a workspace yet" in guest.page.content()
        assert boss.take_problems() == []
