"""A model of each dialect, who calls it, and the way that the calls take."""

from __future__ import annotations

import pytest

from tests.flows.caller import Caller
from tests.flows.pairs.conversation import Format
from tests.flows.pairs.dialects import DIALECTS, Dialect
from tests.flows.pairs.routes import ROUTES, Route
from tests.flows.site import NUSD_PER_USD, Site
from tests.flows.transports import TRANSPORTS, add_provider, named


@pytest.fixture(scope="session")
def pairs_site(site: Site) -> Site:
    for dialect in DIALECTS:
        for transport in TRANSPORTS:
            provider = add_provider(
                site,
                f"{dialect.model}-provider",
                transport=transport,
                kind=dialect.kind,
                base_url=f"{site.upstream.origin}{dialect.path}",
                credential=dialect.credential,
                settings=dialect.settings,
            )
            site.add_model(
                named(dialect.model, transport),
                provider=provider,
                native_model=dialect.native_model,
                max_output_tokens=16_384,
                supports_vision=True,
                supports_pdf=dialect.has_documents,
            )
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
