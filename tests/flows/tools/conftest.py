"""A site whose plugins are set: a search in a static index, and pages of this machine."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.search_services import SECRET
from tests.flows.caller import Caller
from tests.flows.site import CREDENTIAL, NUSD_PER_USD, Site, running_site
from tests.flows.tools.asking import CLAUDE, GEMINI, INDEX
from tests.support.web_pages import WebPages, serving_pages


@pytest.fixture(scope="package")
def pages() -> Iterator[WebPages]:
    with serving_pages() as running:
        yield running


@pytest.fixture(scope="package")
def tools_site(home_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("tools")
    home = Path(shutil.copytree(home_template, folder / "home"))
    index = folder / "index.json"
    index.write_text(json.dumps(INDEX))
    env = {
        "TOLLHOUSE_FETCH_ALLOWED_NETWORKS": "127.0.0.1/32",
        "SEARCH_SECRET": SECRET,
        "SEARCH_WRONG_SECRET": "wrong",
    }
    with running_site(home, env) as site:
        upstream = site.upstream.origin
        anthropic = {"kind": "anthropic", "base_url": f"{upstream}/anthropic/v1"}
        google = {"kind": "google_ai_studio_gemini", "base_url": f"{upstream}/gemini/v1beta"}
        site.office.do("provider", name="claude", credential=CREDENTIAL, **anthropic)
        site.office.do("provider", name="google", credential=CREDENTIAL, **google)
        site.add_model("no-tools")
        site.office.do("describe_model", name="no-tools", supports_tools=False)
        search = ["--backend", "static", "--documents", str(index), "--price", "0.004"]
        site.office.do("command", name="set_tool", arguments=["web_search", *search])
        site.office.do("command", name="set_tool", arguments=["web_fetch", "--price", "0.001"])
        # Last, because these wait until the gateway has them, and with them all that came before.
        site.add_model(CLAUDE, provider="claude", native_model="claude-haiku-4-5-20251001")
        site.add_model(GEMINI, provider="google", native_model="gemini-2.5-flash")
        yield site


@pytest.fixture
def caller(tools_site: Site) -> Caller:
    return tools_site.caller(credit_nusd=10 * NUSD_PER_USD)
