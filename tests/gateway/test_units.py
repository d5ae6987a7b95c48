"""What is metered and priced beside tokens of prompts and answers: exact, whatever the mix."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.money import Price, Usage, cost_nusd, format_price, highest, read_price
from gateway.core.units import COMMON, UNITS, Unit, other_units
from gateway.models import CallRecord, LanguageModel
from gateway.services.exact_prices import exact_cost_nusd

counts = st.integers(0, 10**7)
rates = st.integers(0, 10**10)
OTHERS = [unit.name for unit in other_units()]
usages = st.builds(
    Usage, *[counts] * 4, st.dictionaries(st.sampled_from(OTHERS), st.integers(1, 10**7))
)
prices = st.builds(
    Price,
    *[rates] * 3,
    st.dictionaries(st.sampled_from(OTHERS), rates).map(lambda d: (*d.items(),)),
)


@given(usage=usages, price=prices)
def test_a_price_is_what_the_proof_makes_of_the_record(usage: Usage, price: Price) -> None:
    record = CallRecord(
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        cached_tokens=usage.cached_tokens,
        input_pusd_per_token=price.input_pusd,
        cached_input_pusd_per_token=price.cached_input_pusd,
        output_pusd_per_token=price.output_pusd,
        units={name: {"count": n, "pusd": price.of(name)} for name, n in usage.others.items()},
    )

    assert cost_nusd(usage, price) == exact_cost_nusd(record)


@given(usage=usages, price=prices)
def test_no_mix_of_units_costs_less_than_nothing(usage: Usage, price: Price) -> None:
    assert cost_nusd(usage, price) >= 0


@given(usage=usages, price=prices)
def test_parts_cost_no_more_than_the_highest_price_of_their_whole(
    usage: Usage, price: Price
) -> None:
    plain = Usage(usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens)
    parts = {name: n for name, n in usage.others.items() if UNITS[name].part_of}
    mixed = Usage(plain.prompt_tokens, plain.completion_tokens, plain.cached_tokens, 0, parts)
    highest_each = Price(price.highest_of("prompt"), 0, price.highest_of("completion"))

    assert cost_nusd(mixed, price) <= cost_nusd(
        Usage(plain.prompt_tokens, plain.completion_tokens), highest_each
    )


def test_without_a_price_a_part_costs_what_its_whole_does_and_others_nothing() -> None:
    price = Price(3_000_000, 300_000, 15_000_000)

    assert cost_nusd(Usage(1_000, 10, 200, 0, {"cache_write": 300}), price) == cost_nusd(
        Usage(1_000, 10, 200), price
    )
    assert cost_nusd(Usage(others={"image": 7, "second": 90_000, "character": 10}), price) == 0


def test_cache_reads_and_writes_are_taken_off_the_prompt() -> None:
    price = Price(3_000_000, 300_000, 15_000_000, (("cache_write", 3_750_000),))

    cost = cost_nusd(Usage(1_000, 10, 200, 0, {"cache_write": 300}), price)

    assert cost == 500 * 3_000 + 200 * 300 + 300 * 3_750 + 10 * 15_000


def test_cache_writes_for_an_hour_cost_what_others_do_until_they_have_a_price() -> None:
    written = Usage(1_000, 0, 0, 0, {"cache_write": 300, "cache_write_1h": 200})
    unpriced = Price(3_000_000, 300_000, 0, (("cache_write", 3_750_000),))
    priced = Price(3_000_000, 300_000, 0, (*unpriced.others, ("cache_write_1h", 6_000_000)))

    assert cost_nusd(written, Price(3_000_000, 300_000, 0)) == 1_000 * 3_000
    assert cost_nusd(written, unpriced) == 500 * 3_000 + 500 * 3_750
    assert cost_nusd(written, priced) == 500 * 3_000 + 300 * 3_750 + 200 * 6_000
    assert priced.highest_of("prompt") == 6_000_000


def test_parts_are_never_more_than_their_whole() -> None:
    price = Price(1_000, 100, 0, (("cache_write", 2_000),))

    assert (
        cost_nusd(Usage(10, 0, 4, 0, {"cache_write": 99}), price) == (4 * 100 + 6 * 2_000) // 1000
    )


def test_the_highest_price_counts_what_applies_where_none_is_set() -> None:
    some = Price(1, 2, 3, (("cache_write", 2),))

    merged = highest([some, Price(5, 1, 1)])

    assert merged == Price(5, 2, 3, (("cache_write", 5),))
    assert highest([some]) is some


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
def test_every_price_column_is_there_and_its_price_is_read_as_it_is_shown(unit: Unit) -> None:
    if unit.price_column:
        assert LanguageModel._meta.get_field(unit.price_column).null or unit.name in COMMON
        assert read_price(format_price(123_456_789, unit), unit) == 123_456_789
        assert read_price("1", unit) * unit.price_steps == 10**12
    assert not unit.part_of or UNITS[unit.part_of].price_column


def test_counts_are_shown_with_their_decimals() -> None:
    assert UNITS["second"].format_count(1_234_560) == "1,234.56"
    assert UNITS["second"].format_count(2_000) == "2"
    assert UNITS["image"].format_count(12_345) == "12,345"
