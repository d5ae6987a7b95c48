"""Fixtures that every test may ask for. Data with defaults is in tests.factories."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.support.postgresql import PostgresqlServer
from tests.support.servers import (
    GatewayServer,
    UpstreamServer,
    prepare_home,
    running_gateway,
    running_upstream,
)
from tests.support.storage import shared_server, use_postgresql

# The same examples in every run, and no clock: a run must not fail because a machine is slow, or
# because it was the one to meet a rare example. Looking for those is what `make fuzz` is for.
settings.register_profile(
    "tests",
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("tests")


@pytest.fixture(scope="session")
def anyio_backend() -> tuple[str, dict[str, Any]]:
    """Async tests run on the loop that production runs on."""
    return "asyncio", {"use_uvloop": True}


@pytest.fixture(scope="session")
def home_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that was migrated and seeded once; copy it, do not use it."""
    home = tmp_path_factory.mktemp("template") / "home"
    prepare_home(home)
    return home


@pytest.fixture
def home(home_template: Path, tmp_path: Path) -> Path:
    """A seeded installation of the test's own, nothing running on it yet."""
    return Path(shutil.copytree(home_template, tmp_path / "home"))


@pytest.fixture(scope="session")
def postgresql() -> PostgresqlServer:
    """A PostgreSQL server of this process."""
    return shared_server()


@pytest.fixture(scope="session")
def postgresql_template(
    postgresql: PostgresqlServer, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A home on PostgreSQL that was migrated and seeded once; copy it, do not use it."""
    home = tmp_path_factory.mktemp("template") / "home"
    use_postgresql(home)
    prepare_home(home)
    return home


@pytest.fixture
def postgresql_home(postgresql_template: Path, tmp_path: Path) -> Path:
    """A seeded installation on PostgreSQL, nothing running on it yet."""
    return Path(shutil.copytree(postgresql_template, tmp_path / "postgresql-home"))


@pytest.fixture
def gateway(home: Path) -> Iterator[GatewayServer]:
    """A running gateway of the test's own: for tests that kill, stop or reconfigure it."""
    with running_gateway(home) as server:
        yield server


@pytest.fixture(scope="session")
def upstream() -> Iterator[UpstreamServer]:
    """The fake upstream, shared: look calls up in its book by request id."""
    with running_upstream() as server:
        yield server


@pytest.fixture(scope="session")
def shared_gateway(
    home_template: Path, tmp_path_factory: pytest.TempPathFactory, upstream: UpstreamServer
) -> Iterator[GatewayServer]:
    """A running gateway for tests that leave it as it was.

    Besides the simulated model it has `fake-model` (1 USD in, 2 USD out per million tokens)
    served by the fake upstream.
    """
    home = Path(shutil.copytree(home_template, tmp_path_factory.mktemp("shared") / "home"))
    with running_gateway(home) as server:
        add_fake_model(server, upstream)
        yield server


def add_fake_model(server: GatewayServer, upstream: UpstreamServer) -> None:
    """Give a gateway the model `fake-model`, served by the fake upstream."""
    server.manage(
        *("add_provider", "fake", "--kind", "openai_compatible", "--base-url", upstream.base_url)
    )
    server.manage(
        *("add_model", "fake-model", "--provider", "fake", "--native", "fake"),
        *("--input", "1", "--output", "2", "--context", "128000", "--max-output", "16384"),
    )
