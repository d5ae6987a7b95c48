"""A gateway whose pages look lived in, and a browser to look at them with."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.dashboard.browser import Watched, fill, running_chromium, sign_in, watched_page
from tests.support.require import require_binary
from tests.support.servers import GatewayServer, running_gateway


@pytest.fixture(scope="session")
def lived_in_gateway(
    home_template: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayServer]:
    """A running gateway with a week of calls; tests leave its data as it is, but for keys."""
    home = Path(shutil.copytree(home_template, tmp_path_factory.mktemp("lived-in") / "home"))
    fill(home)
    with running_gateway(home) as server:
        yield server


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for the tests of a file, each of which opens a profile of its own. Not for longer: as
    long as it is there, no test in this process can run an event loop."""
    with running_chromium(require_binary("chromium", package="chromium")) as running:
        yield running


@pytest.fixture
def watched(browser: Browser, lived_in_gateway: GatewayServer) -> Iterator[Watched]:
    """A wide, light page, signed in as the operator."""
    with watched_page(browser, lived_in_gateway) as page:
        sign_in(page, lived_in_gateway.email, lived_in_gateway.password)
        yield page
