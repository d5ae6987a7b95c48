"""The site that golden files are compared with."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.flows.caller import Caller
from tests.flows.site import running_site
from tests.golden.cases import make_callers


@pytest.fixture(scope="session")
def callers(
    home_template: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Caller]]:
    """Those who call, by what they may; a gateway runs as long as the tests do."""
    home = Path(shutil.copytree(home_template, tmp_path_factory.mktemp("golden") / "home"))
    with running_site(home) as site:
        yield make_callers(site)
