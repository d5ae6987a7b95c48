"""A gateway, and a provider that knows whom it lets in."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from tests.fakes.accounts.server import RunningAccounts, running_accounts
from tests.flows.caller import Caller
from tests.flows.site import Site, running_site
from tests.support.servers import ROOT

_numbers = count(1)
# Builds a provider with credentials by name, and a caller of a model that it alone serves.
MakeCaller = Callable[..., tuple[str, Caller]]


@pytest.fixture(scope="session")
def keyed_site(home_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    home = Path(shutil.copytree(home_template, tmp_path_factory.mktemp("keyed") / "home"))
    path = os.pathsep.join([str(Path(__file__).parent), str(ROOT)])
    env = {
        "PYTHONPATH": path,
        "SERVERS_OWN_KEY": "sk-from-the-environment",
        "AWS_ACCESS_KEY_ID": "AKIDENVIRONMENT1",
        "AWS_SECRET_ACCESS_KEY": "aws-secret-value",
        "TEMPORARY_ACCESS_KEY_ID": "ASIDENVIRONMENT2",
        "TEMPORARY_SECRET_ACCESS_KEY": "aws-secret-value",
        "TEMPORARY_SESSION_TOKEN": "aws-session-value",
        "GOOGLE_APPLICATION_CREDENTIALS": str(home / "account.json"),
    }
    with running_site(home, env) as running:
        yield running


@pytest.fixture
def accounts() -> Iterator[RunningAccounts]:
    with running_accounts() as running:
        yield running


@pytest.fixture
def make_caller(keyed_site: Site, accounts: RunningAccounts) -> MakeCaller:
    """credentials: by name, each its text or that and the fields of add_credential."""

    def make(
        *credentials: str, kind: str = "openai_compatible", **fields: object
    ) -> tuple[str, Caller]:
        name = f"keyed-{next(_numbers)}"
        keyed_site.office.do("provider", name=name, kind=kind, base_url=f"{accounts.origin}/v1")
        for number, text in enumerate(credentials, 1):
            order = {"provider": name, "name": f"c{number}", "credential": text}
            keyed_site.office.do("add_credential", **order, **fields)
        keyed_site.add_model(f"{name}-model", provider=name)
        return name, keyed_site.caller().with_(model=f"{name}-model")

    return make
