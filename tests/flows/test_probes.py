"""/healthz and /readyz: what load balancers and supervisors ask, without a key and by any name."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.flows.site import Site, running_site
from tests.support.metrics import Page, get
from tests.support.rows import FILE
from tests.support.waiting import wait_until


@pytest.fixture
def own_site(home: Path) -> Iterator[Site]:
    with running_site(home) as running:
        yield running


def probe(site: Site, name: str, *, method: str = "GET") -> Page:
    return get(f"{site.gateway.origin}/{name}", host="10.0.0.7:8000", method=method)


def checks(page: Page) -> list[str]:
    return [reason["check"] for reason in page.json.get("reasons", ())]


def test_a_process_that_serves_is_alive_and_ready(site: Site) -> None:
    alive, ready = probe(site, "healthz"), probe(site, "readyz")

    assert (alive.status, alive.json["status"]) == (200, "ok")
    assert (ready.status, ready.json["status"]) == (200, "ready")
    assert ready.headers["cache-control"] == "no-store"
    assert probe(site, "healthz", method="HEAD").body == b""
    assert probe(site, "readyz", method="POST").status == 405


def test_other_addresses_still_need_a_host_that_is_allowed(site: Site) -> None:
    assert probe(site, "v1/health").status == 400
    assert probe(site, "healthz/").status == 400


def test_a_process_that_drains_is_alive_and_not_ready(own_site: Site) -> None:
    caller = own_site.caller()
    call = caller.begin("script:tokens=5&stall_after=2&gate=stop", stream=True, max_tokens=50)
    call.wait_for_tokens(1)

    own_site.gateway.process.terminate()
    wait_until(lambda: probe(own_site, "readyz").status == 503, what="the process to drain")

    assert checks(probe(own_site, "readyz")) == ["draining"]
    assert probe(own_site, "healthz").status == 200
    own_site.upstream.open_gate("stop")
    assert call.answer().is_whole


def test_a_process_whose_database_is_gone_is_not_ready_until_it_is_back(own_site: Site) -> None:
    database = own_site.gateway.home / FILE
    aside = database.with_suffix(".aside")

    database.rename(aside)
    wait_until(lambda: probe(own_site, "readyz").status == 503, what="the outage to be seen")

    assert checks(probe(own_site, "readyz"))[0] == "database"
    assert probe(own_site, "healthz").status == 200
    aside.rename(database)
    wait_until(lambda: probe(own_site, "readyz").status == 200, what="the process to be ready")


def test_a_full_disk_is_named(home_template: Path, tmp_path: Path) -> None:
    home = Path(shutil.copytree(home_template, tmp_path / "home"))

    with running_site(home, env={"TOLLHOUSE_MIN_FREE_MB": "100000000"}) as site:
        wait_until(lambda: probe(site, "readyz").status == 503, what="the disk to be looked at")
        page = probe(site, "readyz")

    assert checks(page) == ["disk"]
    assert "MB free" in page.json["reasons"][0]["message"]
