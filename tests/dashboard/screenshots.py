"""Takes a picture of every page, light and dark, wide and narrow.

`python -m tests.dashboard.screenshots FOLDER` starts an installation of its own, fills it with a
week of calls, and ends it again. With `--readme` it takes the pictures of README.md instead.
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser

from tests.dashboard.browser import (
    BY_LINK,
    OPEN,
    PAGES,
    THEMES,
    WIDTHS,
    Watched,
    confirm,
    fill,
    find_address,
    running_chromium,
    sign_in,
    watched_page,
)
from tests.support.servers import GatewayServer, prepare_home, running_gateway

README = Path(__file__).resolve().parents[2] / "docs"
README_SIZE = (1280, 860)


def take_all(browser: Browser, server: GatewayServer, folder: Path) -> list[str]:
    """Save NAME-THEME-WIDTH.png for every page; return what the pages reported meanwhile."""
    problems: list[str] = []
    for theme in THEMES:
        for width in WIDTHS:
            with watched_page(browser, server, width=width, theme=theme) as watched:
                suffix = f"{theme}-{width}.png"
                for name, path in OPEN.items():
                    _take(watched, path, folder / f"{name}-{suffix}")
                sign_in(watched, server.email, server.password)
                confirm(watched, "/account/app", server.password)
                addresses = PAGES | {name: find_address(watched, name) for name in BY_LINK}
                for name, path in addresses.items():
                    _take(watched, path, folder / f"{name}-{suffix}")
                _take_opened(watched, folder, suffix)
                problems += watched.take_problems()
    return problems


def take_readme(browser: Browser, server: GatewayServer, folder: Path) -> list[str]:
    """Save overview-light.png and overview-dark.png, small enough for a page that many load."""
    problems: list[str] = []
    for theme in THEMES:
        with watched_page(browser, server, width=README_SIZE[0], theme=theme) as watched:
            watched.page.set_viewport_size({"width": README_SIZE[0], "height": README_SIZE[1]})
            sign_in(watched, server.email, server.password)
            taken = io.BytesIO(watched.page.screenshot(animations="disabled"))
            picture = (
                Image.open(taken).convert("RGB").quantize(colors=128, dither=Image.Dither.NONE)
            )
            picture.save(folder / f"overview-{theme}.png", optimize=True)
            problems += watched.take_problems()
    return problems


def _take(watched: Watched, path: str, file: Path) -> None:
    watched.open(path)
    watched.page.screenshot(path=file, full_page=True, animations="disabled")


def _take_opened(watched: Watched, folder: Path, suffix: str) -> None:
    """Pictures of what is shown when asked for: dialogs, a key's secret, a preview, the palette."""
    page = watched.page
    watched.open("/keys")
    page.get_by_role("link", name="New key").click()
    page.get_by_label("Label").fill("Checkout, production")
    page.screenshot(path=folder / f"dialog-new-{suffix}")
    page.get_by_role("button", name="Create key").click()
    page.locator("[data-secret]").wait_for()
    page.screenshot(path=folder / f"dialog-issued-{suffix}")
    watched.open(find_address(watched, "model"))
    page.get_by_role("button", name="Preview").click()
    page.locator("#prompt-preview pre").wait_for()
    page.screenshot(path=folder / f"model-preview-{suffix}", full_page=True)
    watched.open("/")
    page.keyboard.press("Control+k")
    page.get_by_role("option").first.wait_for()
    page.screenshot(path=folder / f"palette-{suffix}")


def main() -> int:
    chromium = shutil.which("chromium")
    if len(sys.argv) != 2 or chromium is None:
        print("usage: python -m tests.dashboard.screenshots FOLDER | --readme (needs chromium)")  # noqa: T201
        return 2
    for_readme = sys.argv[1] == "--readme"
    folder = README if for_readme else Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="tollhouse-screenshots-") as home:
        prepare_home(Path(home))
        fill(Path(home))
        with running_gateway(Path(home)) as server, running_chromium(chromium) as browser:
            problems = (take_readme if for_readme else take_all)(browser, server, folder)
    print(*[f"{len(list(folder.glob('*.png')))} pictures in {folder}", *problems], sep="\n")  # noqa: T201
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
