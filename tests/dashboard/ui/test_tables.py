"""Every table's cells are the columns that its layout describes, no more and no less."""

from __future__ import annotations

from importlib import import_module

import pytest
from django.template.loader import get_template

from dashboard.templatetags.tables import HEADING, CellNode, breakable
from dashboard.ui.tables import Column, Layout, Shown
from tests.house.tree import tracked

MODULES = [
    path.removesuffix(".py").replace("/", ".")
    for path in tracked("/table.py", "/tables.py")
    if path.startswith("dashboard/") and "/ui/" not in path and "/templatetags/" not in path
]
LAYOUTS: list[Layout[object]] = [
    value
    for module in MODULES
    for value in vars(import_module(module)).values()
    if isinstance(value, Layout)
]


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_a_table_has_one_block_for_each_column(layout: Layout[object]) -> None:
    template = get_template(layout.cells).template  # type: ignore[attr-defined]
    nodes = template.nodelist.get_nodes_by_type(CellNode)

    names = sorted(node.name for node in nodes if node.name != HEADING)

    assert names == sorted(column.name for column in layout.columns)
    assert len({column.name for column in layout.columns}) == len(layout.columns)


def test_tables_of_a_page_have_names_of_their_own() -> None:
    names = [layout.name for layout in LAYOUTS]

    assert len(names) >= 16
    assert len(set(names)) == len(names)


def test_a_column_says_its_classes_once() -> None:
    column = Column("spent", "Spent", is_number=True, shown=Shown.WIDE, cell_css="muted")

    assert column.head_classes == "num wide-only"
    assert column.cell_classes == "num wide-only muted"


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("rate_limit_exceeded", "rate_<wbr>limit_<wbr>exceeded"),
        ("/batches/{batch_id}/cancel", "/batches<wbr>/{batch_<wbr>id}<wbr>/cancel"),
        ("ok_", "ok_"),
        ("<b>", "&lt;b&gt;"),
    ],
)
def test_codes_break_after_underscores_and_addresses_before_slashes(code: str, shown: str) -> None:
    assert breakable(code) == shown
