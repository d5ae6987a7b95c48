"""The sites that tests of whole calls run against."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.flows.caller import Caller
from tests.flows.site import Site, running_site


@pytest.fixture(scope="session")
def site(home_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One running gateway for all tests that change nothing of it but what is theirs."""
    home = Path(shutil.copytree(home_template, tmp_path_factory.mktemp("site") / "home"))
    env = {"TOLLHOUSE_KEEP_ALIVE_S": "1", "TOLLHOUSE_BODY_LIMIT_MB": "1"}
    with running_site(home, env) as running:
        yield running


@pytest.fixture
def caller(site: Site) -> Caller:
    """A caller of a workspace of its own with 1 USD, allowed everything."""
    return site.caller()
