"""A gateway with its background worker."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.flows.batches.asking import batch_caller, running_worker
from tests.flows.caller import Caller
from tests.flows.site import Site, running_site


@pytest.fixture(scope="session")
def batch_site(home_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    home = Path(shutil.copytree(home_template, tmp_path_factory.mktemp("batches") / "home"))
    with running_site(home) as site, running_worker(site):
        yield site


@pytest.fixture
def caller(batch_site: Site) -> Caller:
    """A caller of a workspace of its own with 1 USD, whose key may use files and models."""
    return batch_caller(batch_site)
