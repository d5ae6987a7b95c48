"""Records that no database takes as they are: made fit for one, in the caller's favour."""

from __future__ import annotations

from typing import Any

from gateway.journal.record import Settled
from gateway.stores.post_one_by_one import MAX_INTEGER, cleaned, uncharged
from tests.money import office


def settled(**fields: Any) -> Settled:
    return office.settled(office.admitted("a workspace", 0), 0, **fields)


def test_a_cost_beyond_64_bits_is_written_down_as_the_largest() -> None:
    record = settled(owed_nusd=5, absorbed_nusd=2**64 - 1, charge_basis="usage")

    plain = uncharged(record)

    assert isinstance(plain, Settled)
    receipt = plain.receipt
    assert (receipt.charge_nusd, receipt.absorbed_nusd, plain.owed_nusd) == (0, MAX_INTEGER, 0)
    assert receipt.charge_basis == "zero_platform"


def test_text_that_no_database_takes_is_replaced() -> None:
    record = settled(user="a\x00b\ud800", model="m")

    plain = cleaned(record)

    assert isinstance(plain, Settled)
    assert (plain.identity.user, plain.served.model) == ("ab?", "m")
