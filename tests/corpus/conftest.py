"""The server that the corpus is thrown at, and what must be true of it afterwards."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.corpus.oracle import Witness
from tests.corpus.wire import fresh_address
from tests.flows.caller import Caller
from tests.flows.site import NUSD_PER_USD, Site, running_site

HEAD_S, BODY_SILENCE_S, BODY_PACE_S, IDLE_CONNECTIONS, WRONG_KEYS = 3, 3, 2, 32, 20
PROXY = "127.0.0.9"


@pytest.fixture(scope="session")
def site(home_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A gateway with short patience that believes one proxy. Its log must stay free of traces."""
    home = Path(shutil.copytree(home_template, tmp_path_factory.mktemp("corpus") / "home"))
    env = {
        "TOLLHOUSE_HEAD_S": str(HEAD_S),
        "TOLLHOUSE_BODY_SILENCE_S": str(BODY_SILENCE_S),
        "TOLLHOUSE_BODY_PACE_S": str(BODY_PACE_S),
        "TOLLHOUSE_IDLE_CONNECTIONS": str(IDLE_CONNECTIONS),
        "TOLLHOUSE_WRONG_KEYS": str(WRONG_KEYS),
        "TOLLHOUSE_BODY_LIMIT_MB": "1",
        "TOLLHOUSE_TRUSTED_PROXIES": f"{PROXY}/32,198.51.100.0/24",
        "TOLLHOUSE_ALLOWED_HOSTS": "gateway.example,.apps.example",
    }
    with running_site(home, env) as running:
        yield running
        assert "Traceback" not in running.gateway.log.read_text()


@pytest.fixture(scope="session")
def healthy(site: Site) -> Caller:
    """Whoever calls beside the abuse, and has to be served: hundreds of calls at a time."""
    return site.caller(credit_nusd=1_000 * NUSD_PER_USD)


@pytest.fixture(scope="session")
def abused(site: Site) -> Caller:
    """The holder of the valid key that abusive requests carry. No call of theirs gets in."""
    return site.caller()


@pytest.fixture
def witness(site: Site, healthy: Caller) -> Iterator[Witness]:
    """Watches the server over one test: same process, no call upstream but those expected, and
    afterwards a call that is served."""
    watching = Witness(site, healthy)
    yield watching
    watching.assert_unharmed()


@pytest.fixture
def source() -> str:
    return fresh_address()
