"""The table of faults names tests that exist, for every row and both ways to answer."""

from __future__ import annotations

import pytest

from tests.faults.fault_table import NAME, Row, places, rows
from tests.support.storage import STORAGES

FAULTS = 45
REASON = "No call"


def test_every_fault_has_its_row() -> None:
    assert [row.number for row in rows()] == list(range(1, FAULTS + 1))


@pytest.mark.parametrize("row", rows(), ids=lambda row: str(row.number))
def test_a_row_names_tests_that_exist(row: Row) -> None:
    named = [name for storage in STORAGES for name in row.tests(storage)]

    assert [name for name in named if name not in places()] == []
    assert all(row.tests(storage) for storage in STORAGES)
    for cell in (row.streamed, row.buffered):
        assert NAME.search(cell) or cell.startswith(REASON)
