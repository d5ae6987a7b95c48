"""The site of the scratch package (tests/house/seams), whose processors do what they are told."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.flows.caller import Caller
from tests.flows.processors.faulty_engines import ENV
from tests.flows.site import Site, running_site
from tests.house.seams.site import ScratchSite, running_scratch_site
from tests.house.seams.upstream import asked
from tests.support.servers import UpstreamServer


@pytest.fixture(scope="package")
def scratch(
    home_template: Path, tmp_path_factory: pytest.TempPathFactory, upstream: UpstreamServer
) -> Iterator[ScratchSite]:
    folder = tmp_path_factory.mktemp("processors") / "home"
    with running_scratch_site(home_template, folder, upstream) as site:
        yield site


@pytest.fixture(scope="package")
def caller(scratch: ScratchSite) -> Caller:
    return scratch.caller("--scope", "completions", "--scope", "pii")


@pytest.fixture(autouse=True)
def nothing_asked() -> None:
    asked.clear()


@pytest.fixture(scope="package")
def faulty_site(home_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A site whose engines fail where a text tells them to (faulty_engines). Its streams begin with
    their answers, however slow the machine is."""
    home = Path(shutil.copytree(home_template, tmp_path_factory.mktemp("faulty") / "home"))
    with running_site(home, {**ENV, "TOLLHOUSE_KEEP_ALIVE_S": "300"}) as running:
        yield running


@pytest.fixture(scope="package")
def lively_site(home_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The same, but streams are kept open from the first second on."""
    home = Path(shutil.copytree(home_template, tmp_path_factory.mktemp("lively") / "home"))
    with running_site(home, {**ENV, "TOLLHOUSE_KEEP_ALIVE_S": "1"}) as running:
        yield running
