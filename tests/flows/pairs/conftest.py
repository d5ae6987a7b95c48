"""A model of each dialect, who calls it, and the way that the calls take."""

from __future__ import annotations

import pytest

from tests.flows.caller import Caller
from tests.flows.pairs.conversation import Format
from tests.flows.pairs.dialects import DIALECTS, Dialect, add_dialects
from tests.flows.pairs.routes import ROUTES, Route
from tests.flows.site import NUSD_PER_USD, Site
from tests.flows.transports import named


@pytest.fixture(scope="session")
def pairs_site(site: Site) -> Site:
    add_dialects(site)
    return site


@pytest.fixture(scope="module", params=DIALECTS, ids=lambda dialect: dialect.name)
def dialect(request: pytest.FixtureRequest) -> Dialect:
    found: Dialect = request.param
    return found


@pytest.fixture(params=ROUTES, ids=str)
def route(request: pytest.FixtureRequest) -> Route:
    found: Route = request.param
    return found


@pytest.fixture
def form(route: Route) -> Format:
    return route.form


@pytest.fixture(scope="module")
def payer(pairs_site: Site) -> Caller:
    """One for all calls to a dialect."""
    return pairs_site.caller(credit_nusd=100 * NUSD_PER_USD)


@pytest.fixture
def caller(payer: Caller, dialect: Dialect, route: Route) -> Caller:
    return payer.with_(model=named(dialect.model, route.transport))


@pytest.fixture
def alone(pairs_site: Site, dialect: Dialect, route: Route) -> Caller:
    """A caller whose calls no other test makes."""
    return pairs_site.caller().with_(model=named(dialect.model, route.transport))
