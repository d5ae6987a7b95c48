"""A call is explained in a real browser, with scripts and without."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, expect

from tests.dashboard.browser import Watched, find_address
from tests.support.servers import GatewayServer

pytestmark = pytest.mark.slow

BODY = '{"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 7}'


def test_a_call_with_a_key_is_explained_from_its_page(watched: Watched) -> None:
    page = watched.page
    watched.open(find_address(watched, "key"))
    page.get_by_role("main").get_by_role("link", name="Explain a call").click()
    page.get_by_label("Model").fill("deepseek-v3.2")
    page.get_by_label("Body").fill(BODY)
    page.get_by_role("button", name="Explain").click()

    heading = page.get_by_role("heading", name="Decision Admitted")
    expect(heading).to_be_focused()
    expect(page.get_by_text("for at most 7 output tokens")).to_be_visible()
    expect(page.get_by_text("600 requests per hour, burst 1,200")).to_be_visible()
    problems = watched.check("admitted")
    page.get_by_label("Model").fill("nobody/has-this")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Decision Refused")).to_be_focused()
    expect(page.get_by_text("model_not_found")).to_be_visible()
    problems += watched.check_in_every_theme("refused")
    page.get_by_label("Client address").fill("nowhere")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Enter an IPv4 or IPv6 address")).to_be_visible()
    expect(page.get_by_label("Client address")).to_be_focused()
    expect(page.get_by_label("Body")).to_have_value(BODY)
    problems += watched.check("a form with errors")

    assert problems == []


def test_without_scripts(browser: Browser, lived_in_gateway: GatewayServer) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{lived_in_gateway.origin}/sign-in?next=/explain")
    page.fill("[name=login]", lived_in_gateway.email)
    page.fill("[name=password]", lived_in_gateway.password)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.get_by_label("API key").select_option(index=1)
    page.get_by_label("Model").fill("nobody/has-this")
    page.get_by_role("button", name="Explain").click()

    expect(page.get_by_role("heading", name="Decision Refused")).to_be_visible()
    expect(page.get_by_label("Model")).to_have_value("nobody/has-this")
    context.close()
