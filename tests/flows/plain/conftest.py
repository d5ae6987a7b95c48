"""A model with a price for every unit, at the fake upstream."""

from __future__ import annotations

import pytest

from tests.flows.caller import Caller
from tests.flows.plain.asking import add_priced
from tests.flows.site import Site

MODEL = "all-units"


@pytest.fixture(scope="session")
def priced(site: Site) -> str:
    return add_priced(site, MODEL)


@pytest.fixture
def caller(site: Site, priced: str) -> Caller:
    """A caller of a workspace of its own with 1 USD, allowed everything."""
    return site.caller().with_(model=priced)
