"""Random calls, and what each was charged: exact to the nano-dollar, whatever became of it."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from tests.flows.charges.book import Counts, counts_of, price_nusd
from tests.flows.charges.conftest import SEED, prices_of
from tests.flows.charges.making import Made, make, read_book, read_charges, read_spent_nusd
from tests.flows.charges.planned import ENDINGS, FALLBACK, Ending
from tests.flows.charges.row import Row
from tests.flows.charges.rows import EVERY
from tests.flows.site import NUSD_PER_USD, Site
from tests.support.proofs import IS_WHOLE, form

pytestmark = pytest.mark.proof
CREDIT_NUSD = 10_000 * NUSD_PER_USD
CALLS = form(short=16, whole=int(os.environ.get("CALLS") or "1000"))
FREE = (Ending.REFUSED, Ending.BROKEN)
Entry = dict[str, Any]


def used(row: Row, one: Made, tries: Sequence[Entry]) -> Counts:
    """Return what the call used by the book, or by our own count where the provider said nothing:
    the caller has left, or what it reports is not this."""
    planned, last = one.planned, last_of(tries)
    means = row.provider.means
    is_told = planned.stream and (means.tells_prompt or means.tells_all)
    if planned.ending is Ending.LEFT and not is_told:
        return {"completion": last["completion_tokens"]} | planned.estimate
    if planned.is_counted_by_us:
        return planned.estimate
    # A call may be several requests, and none of them counts that another model was asked first.
    counts = counts_of(*[entry for entry in tries if entry["model"] == last["model"]])
    if is_fallback(last):
        # Of OpenAI's format, which has one word for all that is written to a cache.
        counts["cache_write"] += counts.pop("cache_write_1h")
    return counts | planned.ours


def last_of(tries: Sequence[Entry]) -> Entry:
    """Return the try that answered: parts of a request that was given up may end up behind it."""
    return next(filter(is_fallback, reversed(tries)), tries[-1])


def is_fallback(entry: Entry) -> bool:
    return str(entry["model"]).startswith(FALLBACK)


def expected_nusd(row: Row, one: Made, tries: Sequence[Entry]) -> int:
    if one.planned.ending in FREE:
        return 0
    last = last_of(tries)
    model = str(last["model"]) if is_fallback(last) else row.name
    return price_nusd(used(row, one, tries), prices_of(model))


def differences(
    row: Row, made: Sequence[Made], said: Sequence[Entry], tried: Sequence[Sequence[Entry]]
) -> Iterator[str]:
    """Yield a sentence for each call that is not charged what it costs, or told something else."""
    for one, generation, tries in zip(made, said, tried, strict=True):
        ending, charge_nusd = one.planned.ending, int(generation["cost_nano_usd"])
        about = f"{ending.value} {one.call_id} {generation['charge_basis']}"
        expected = expected_nusd(row, one, tries)
        if charge_nusd != expected:
            yield f"{about}: {charge_nusd} instead of {expected}: {generation}, {tries}"
        told_usd = one.told_usd
        if told_usd is not None and told_usd != charge_nusd / NUSD_PER_USD:
            yield f"{about}: {told_usd} was told and {charge_nusd} nano-USD charged"
        is_whole = ending in (Ending.WHOLE, Ending.FALLBACK) and one.planned.tells_cost
        if is_whole and (one.answer is None or told_usd is None):
            yield f"{about}: no cost was told: {one.answer}"
        if generation["absorbed_cost"] and ending not in FREE:
            yield f"{about}: {generation['absorbed_cost']} USD absorbed"


@pytest.mark.parametrize("row", EVERY, ids=lambda row: row.name)
def test_random_calls_cost_what_the_providers_book_says(charged_site: Site, row: Row) -> None:
    site, dice = charged_site, random.Random(f"{SEED} calls of {row.name}")
    caller = site.caller(credit_nusd=CREDIT_NUSD).with_(model=row.name)
    plans = [
        row.plan(dice, ENDINGS[number % len(ENDINGS)], row.provider.means)
        for number in range(CALLS)
    ]

    made = make(site, caller, plans)
    said = read_charges(caller, made)

    tried = read_book(site, made)
    found = list(differences(row, made, said, tried))
    assert found == [], "\n".join([f"SEED={SEED}", *found[:20]])
    assert_all_is_there(row, made, said, tried)
    spent_nusd = sum(int(one["cost_nano_usd"]) for one in said)
    assert read_spent_nusd(caller, calls=CALLS) == spent_nusd
    assert site.balance_nusd(caller) == CREDIT_NUSD - spent_nusd


def assert_all_is_there(
    row: Row, made: Sequence[Made], said: Sequence[Entry], tried: Sequence[Sequence[Entry]]
) -> None:
    """Assert that the proof is one: each unit was used, and each ending came."""
    units = {
        unit
        for one, tries in zip(made, tried, strict=True)
        for unit, count in used(row, one, tries).items()
        if count and one.planned.ending is Ending.WHOLE
    }
    assert units >= row.provider.means.units or not IS_WHOLE
    assert {one.planned.ending for one in made} == set(Ending)
    assert any(is_fallback(tries[-1]) for tries in tried)
    for one, generation in zip(made, said, strict=True):
        if one.planned.ending is Ending.WHOLE:
            assert generation["status"] == "ok"
            basis = "estimate" if one.planned.is_counted_by_us else "usage"
            assert generation["charge_basis"] == basis
            assert one.answer is not None
            assert one.answer.status == 200
        if one.planned.ending is Ending.LEFT:
            assert generation["status"] == "aborted"
