"""The ledger keeps to the two rules that a reader cannot see at a glance."""

from __future__ import annotations

import ast

import pytest

from tests.house.tree import text_of, tracked

LEDGER = ["accounts/ledger.py", *(p for p in tracked(".py") if p.startswith("gateway/stores/"))]


@pytest.mark.parametrize("path", LEDGER)
def test_no_row_is_locked_in_ledger_code(path: str) -> None:
    """SQLite drops row locks in silence: conditional updates and row counts work everywhere."""
    assert "select_for_update" not in text_of(path)


def test_no_float_is_written_in_the_ledger() -> None:
    tree = ast.parse(text_of("accounts/ledger.py"))

    floats = [
        node.lineno
        for node in ast.walk(tree)
        if (isinstance(node, ast.Constant) and isinstance(node.value, float))
        or (isinstance(node, ast.Name) and node.id == "float")
        or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div))
    ]

    assert floats == []
