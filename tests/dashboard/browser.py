"""A real browser on the pages, and an eye on everything that must not happen in it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from tests.support.servers import ROOT, GatewayServer, environment

Theme = Literal["light", "dark"]
# What works is there in no time, but for a machine that is busy with other things.
expect.set_options(timeout=30_000)
WIDTHS = (1440, 390)
THEMES: tuple[Theme, ...] = ("light", "dark")
HEIGHTS = {1440: 900, 390: 844}
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
AXE_OPTIONS = {
    "rules": {"label-content-name-mismatch": {"enabled": True}},  # off by default
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    "resultTypes": ["violations"],  # the rest is not looked at, and costs most of the time
}
REPORT = """
document.addEventListener("securitypolicyviolation", (event) =>
  reportViolation(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}`));
"""
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"

# name: address. Those in BY_LINK are found by following the first link that fits, and the next.
OPEN = {"sign-in": "/sign-in", "join": "/join", "not-found": "/nothing/here"}
PAGES = {
    "overview": "/",
    "overview-7d": "/?period=7d",
    "keys": "/keys",
    "keys-all": "/keys?state=all",
    "keys-none": "/keys?q=nothing-like-it",
    "key-new": "/keys/new",
    "key-import": "/keys/import",
    "calls": "/calls",
    "calls-failed": "/calls?status=failed",
    "calls-fallback": "/calls?fallback=yes",
    "credits": "/credits",
    "credits-entries": "/credits?show=entries",
    "credits-grant": "/credits/grant",
    "members": "/members",
    "member-invite": "/members/invite",
    "audit": "/audit",
    "audit-installation": "/installation/audit",
    "limits": "/limits",
    "limits-none": "/limits?q=nothing-like-it",
    "limit-new": "/limits/new",
    "explain": "/explain",
    "processors": "/processors",
    "processor-mandatory": "/processors/mandatory/new?processor=anonymise",
    "processor-service": "/processors/services/new",
    "settings": "/settings",
    "settings-lock": "/settings/lock",
    "settings-bodies": "/settings/bodies",
    "settings-budget": "/limits/budget",
    "settings-access": "/settings/access-rules",
    "mcp-servers": "/settings/mcp-servers",
    "mcp-server-new": "/settings/mcp-servers/new",
    "settings-developer-keys": "/settings/developer-keys",
    "batches": "/batches",
    "files": "/files",
    "file-upload": "/files/upload",
    "file-limits": "/files/limits",
    "workspaces": "/workspaces",
    "workspace-new": "/workspaces/new",
    "models": "/models",
    "models-none": "/models?q=nothing-like-it",
    "model-new": "/models/new",
    "price-list": "/models/prices",
    "provider-models": "/models/of-provider",
    "tools": "/tools",
    "tool": "/tools/web_search",
    "providers": "/providers",
    "provider-new": "/providers/new",
    "installation-limits": "/installation/limits",
    "installation-limit-new": "/installation/limits/new",
    "hosts": "/hosts",
    "reference": "/reference",
    "account": "/account",
    "account-name": "/account/name",
    "account-password": "/account/password",
    "account-passkeys": "/account/passkeys",
    "account-passkey-new": "/account/passkeys/new",
    "account-app": "/account/app",
    "confirm": "/account/confirm",
    "nothing-there": "/w/nobody/keys",
}
BY_LINK: dict[str, tuple[str, ...]] = {
    "key": ("/keys?q=Checkout", "#key-table .row-link"),
    "model": ("/models", "#model-table .row-link"),
    "member-role": (
        "/members",
        "main [href$='/role'], main [href*='/members/']:not([href$=invite], [href$=budget])",
    ),
    "member-remove": ("/members?q=noor", "#member-table a[href$='/remove']"),
    "member-budget": ("/members?q=noor", "#member-table a[href$='/budget']"),
    "provider": ("/providers", "#provider-table .row-link"),
    "limit": ("/limits", "#limit-table [aria-label^=Edit]"),
    "limit-remove": ("/limits", "#limit-table [aria-label^=Remove]"),
    "installation-limit": ("/installation/limits", "#limit-table [aria-label^=Edit]"),
    "call": ("/calls?status=ok", "main .row-link"),
    "call-fallback": ("/calls?status=ok&fallback=yes", "main .row-link"),
    "call-refused": ("/calls?status=refused", "main .row-link"),
    "explained": ("/calls?status=refused", "main .row-link", "main [href*='/explain?']"),
    "call-failed": ("/calls?status=upstream_error", "main .row-link"),
}


@dataclass
class Watched:
    """A page signed in (or not), and what went wrong on it so far."""

    page: Page
    origin: str
    problems: list[str] = field(default_factory=list)

    def take_problems(self) -> list[str]:
        taken, self.problems[:] = list(self.problems), []
        return taken

    def open(self, path: str) -> None:
        self.page.goto(self.origin + path, wait_until="load")

    def check(self, name: str) -> list[str]:
        """Return what is wrong with the page as it is now: axe's findings, overflow, reports."""
        found = [f"{name}: {problem}" for problem in self.take_problems()]
        too_wide = self.page.evaluate(OVERFLOW)
        if too_wide > 0:
            found.append(f"{name}: {too_wide} px wider than the screen")
        axe = Axe().run(self.page, options=AXE_OPTIONS)
        for violation in axe.response["violations"]:
            nodes = [node["html"][:160] for node in violation["nodes"][:3]]
            found.append(f"{name}: {violation['id']} {nodes}")
        return found

    def check_in_every_theme(self, name: str, themes: Sequence[Theme] = THEMES) -> list[str]:
        """Return what is wrong with the page as it is now, in whichever colours."""
        found = []
        for theme in themes:
            self.page.emulate_media(color_scheme=theme)
            found += self.check(f"{name} {theme}")
        return found


def find_address(watched: Watched, name: str) -> str:
    """Return the address of a page that is reached by a link."""
    address, *links = BY_LINK[name]
    for link in links:
        watched.open(address)
        href = watched.page.locator(link).first.get_attribute("href")
        assert href, f"{address} has no {link}"
        address = href
    return address


def fill(home: Path) -> None:
    """Write demo data into a prepared home that nothing runs on."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.dashboard.fill_home"],
        cwd=ROOT,
        env=environment(home),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@contextmanager
def running_chromium(executable: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def watched_page(
    browser: Browser,
    server: GatewayServer,
    *,
    width: int = 1440,
    theme: str = "light",
    host: str = "127.0.0.1",
) -> Iterator[Watched]:
    """Open a fresh browser profile; everything that must not happen lands in `problems`."""
    origin = f"http://{host}:{server.port}"
    context = browser.new_context(
        viewport={"width": width, "height": HEIGHTS.get(width, 900)},
        color_scheme="dark" if theme == "dark" else "light",
        reduced_motion="reduce",
    )
    context.grant_permissions(["clipboard-read", "clipboard-write"], origin=origin)
    page = context.new_page()
    page.set_default_timeout(60_000)
    watched = Watched(page, origin)
    _report_into(watched)
    try:
        yield watched
    finally:
        context.close()


def sign_in(watched: Watched, email: str, password: str) -> None:
    page = watched.page
    watched.open("/sign-in")
    page.fill("[name=login]", email)
    page.fill("[name=password]", password)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.wait_for_url(f"{watched.origin}/w/*", wait_until="load")


def confirm(watched: Watched, path: str, password: str) -> None:
    """Open a page that asks for the password once more, and give it."""
    watched.open(path)
    watched.page.get_by_label("Password").fill(password)
    watched.page.get_by_role("button", name="Confirm").click()
    watched.page.wait_for_url(f"{watched.origin}{path}", wait_until="load")


def _report_into(watched: Watched) -> None:
    def on_console(message: ConsoleMessage) -> None:
        # A refused form is answered with 409 or 422, a missing page with 404: we ask for them.
        asked_for = any(f"status of {status}" in message.text for status in (404, 409, 422))
        if message.type in ("error", "warning") and not asked_for:
            watched.problems.append(f"console: {message.text[:300]}")

    def on_request(url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("data", "blob") and f"{parts.scheme}://{parts.netloc}" != (
            watched.origin
        ):
            watched.problems.append(f"request elsewhere: {url}")

    page = watched.page
    page.on("console", on_console)
    page.on("pageerror", lambda error: watched.problems.append(f"script: {error}"))
    page.on("request", lambda request: on_request(request.url))
    page.expose_function("reportViolation", lambda text: watched.problems.append(f"CSP: {text}"))
    page.add_init_script(REPORT)
