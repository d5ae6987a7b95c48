"""A model with random prices for each row, and one that serves where its provider refuses."""

from __future__ import annotations

import os
import random

import pytest

from tests.flows.charges.book import FIELDS, Prices, random_prices
from tests.flows.charges.planned import FALLBACK
from tests.flows.charges.row import Row
from tests.flows.charges.rows import EVERY
from tests.flows.site import Site

SEED = os.environ.get("SEED") or "12"
# Units that models have a price for, by their names; all that are not here have one for each.
PRICED = {row.name: row.provider.means.priced for row in EVERY} | {
    f"{FALLBACK}-speech": frozenset({"character"})
}
# Those that have columns of their own.
TOKENS = ("prompt", "cached", "completion")


def prices_of(name: str) -> Prices:
    """Return the prices of a model, the same in each run."""
    return random_prices(random.Random(f"{SEED} {name}"), PRICED.get(name, frozenset(FIELDS)))


def add_priced(site: Site, name: str, **fields: object) -> None:
    prices = prices_of(name)
    site.office.do(
        "model",
        name=name,
        input_pusd=prices["prompt"],
        cached_input_pusd=prices["cached"],
        output_pusd=prices["completion"],
        unit_prices={unit: prices[unit] for unit in FIELDS if unit not in TOKENS},
        **fields,
    )


@pytest.fixture(scope="session")
def charged_site(site: Site) -> Site:
    for operation in {row.operation for row in EVERY}:
        name = f"{FALLBACK}-{operation}"
        add_priced(site, name, provider="fake", native_model=name, operation=operation)
    for row in EVERY:
        add_row(site, row)
    site.gateway.wait_for_model(EVERY[-1].name)
    return site


def add_row(site: Site, row: Row) -> None:
    provider = row.provider
    site.office.do(
        "provider",
        name=row.name,
        kind=provider.kind,
        base_url=f"{site.upstream.origin}{provider.path}",
        credential=provider.credential,
        settings=provider.settings,
    )
    add_priced(
        site,
        row.name,
        provider=row.name,
        native_model=provider.native_model,
        operation=row.operation,
        fallbacks=[f"{FALLBACK}-{row.operation}"],
    )
