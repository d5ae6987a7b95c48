"""Records that no database takes as they are: made fit for one, in the caller's favour."""

from __future__ import annotations

from msgspec.structs import asdict

from gateway.journal.record import Settled
from gateway.stores.post_one_by_one import MAX_INTEGER, cleaned, uncharged


def settled(**fields: object) -> Settled:
    """Return a record of a call, zeros and empty texts where fields do not say otherwise."""
    kinds = {name: Settled.__annotations__[name] for name in Settled.__struct_fields__}
    blank = {"str": "", "int": 0, "bool": False, "float": 0.0}
    return Settled(**{name: blank.get(kind) for name, kind in kinds.items()} | fields)  # type: ignore[arg-type]


def test_a_cost_beyond_64_bits_is_written_down_as_the_largest() -> None:
    record = settled(charge_nusd=5, absorbed_nusd=2**64 - 1, charge_basis="usage")

    plain = uncharged(record)

    assert isinstance(plain, Settled)
    assert (plain.charge_nusd, plain.absorbed_nusd) == (0, MAX_INTEGER)
    assert plain.charge_basis == "zero_platform"


def test_text_that_no_database_takes_is_replaced() -> None:
    record = settled(user="a\x00b\ud800", model="m")

    plain = cleaned(record)

    assert asdict(plain)["user"] == "ab?"
    assert asdict(plain)["model"] == "m"
