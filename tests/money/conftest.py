"""What a test of mishaps of the stores starts from."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from accounts.models import Workspace
from tests.money.branch import SteppedLoop
from tests.money.office import make_rich


@pytest.fixture
def loop() -> Iterator[SteppedLoop]:
    loop = SteppedLoop()
    yield loop
    loop.close()


@pytest.fixture
def workspace() -> Workspace:
    return make_rich(10_000)
