"""The sites that tests of whole calls run against."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.flows.caller import Caller
from tests.flows.site import Site, running_site
from tests.flows.transports import DIRECT

# Their assertions tell what they compared, as those of tests do.
pytest.register_assert_rewrite("tests.flows.dialect_checks", "tests.flows.openai_sdk")


@pytest.fixture(scope="session")
def site(home_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One running gateway for all tests that change nothing of it but what is theirs."""
    home = Path(shutil.copytree(home_template, tmp_path_factory.mktemp("site") / "home"))
    env = {
        "TOLLHOUSE_KEEP_ALIVE_S": "1",
        "TOLLHOUSE_BODY_LIMIT_MB": "1",
        "TOLLHOUSE_STALL_S": "2",
    }
    with running_site(home, env) as running:
        yield running


@pytest.fixture
def caller(site: Site) -> Caller:
    """A caller of a workspace of its own with 1 USD, allowed everything."""
    return site.caller()


@pytest.fixture
def transport(request: pytest.FixtureRequest) -> str:
    """What the calls of the test go by: each in turn for tests marked `both_transports`."""
    return str(getattr(request, "param", DIRECT))


@pytest.fixture(scope="session")
def impatient_site(home_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A gateway that waits for nothing longer than it must."""
    home = Path(shutil.copytree(home_template, tmp_path_factory.mktemp("impatient") / "home"))
    env = {
        "TOLLHOUSE_CONNECT_S": "1",
        "TOLLHOUSE_FIRST_BYTE_S": "2",
        "TOLLHOUSE_IDLE_S": "1",
        "TOLLHOUSE_OUTPUT_S": "2",
        "TOLLHOUSE_TOTAL_S": "2",
        "TOLLHOUSE_TOTAL_STREAM_S": "5",
        "TOLLHOUSE_QUEUE_TIMEOUT_MS": "500",
        "TOLLHOUSE_MAX_QUEUE": "2",
    }
    with running_site(home, env) as running:
        yield running


@pytest.fixture(scope="session")
def files_site(home_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A gateway that fetches files from 127.0.0.1 and nowhere else on this host, which it believes
    to be a proxy, too. Its models, all with pictures and PDFs as their names say: all-seeing,
    picture-model, text-model; free-pictures is a picture-model whose tokens cost nothing."""
    home = Path(shutil.copytree(home_template, tmp_path_factory.mktemp("files") / "home"))
    env = {
        "TOLLHOUSE_FETCH_ALLOWED_NETWORKS": "127.0.0.1/32",
        "TOLLHOUSE_PDF_PAGE_FEE_USD": "0.003",
        "TOLLHOUSE_TRUSTED_PROXIES": "127.0.0.1/32, 10.0.0.0/8",
    }
    with running_site(home, env) as running:
        for name, sees, reads in (
            ("all-seeing", True, True),
            ("picture-model", True, False),
            ("text-model", False, False),
            ("free-pictures", True, False),
        ):
            prices = {"input_pusd": 0, "output_pusd": 0} if name.startswith("free") else {}
            running.office.do("model", name=name, provider="fake", **prices)
            abilities = {"supports_vision": sees, "supports_pdf": reads}
            running.office.do("describe_model", name=name, **abilities)
        running.add_model("last-model")
        yield running
