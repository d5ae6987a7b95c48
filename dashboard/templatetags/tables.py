"""The cells of tables: `{% cell "name" %}` says what the cells of a column say.

dashboard.ui.tables describes the columns.
"""

from __future__ import annotations

import re
from weakref import WeakKeyDictionary

from django import template
from django.template import Context, Template
from django.template.base import NodeList, Parser, Token
from django.template.loader import get_template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from dashboard.ui.tables import Column, Group, Row, Table

register = template.Library()
HEADING = "group"  # the block that heads a group of rows
# Where a code or an address may go on in the next line.
BREAKS = re.compile(r"(?<=_)(?=.)|(?<=.)(?=/)")


class CellNode(template.Node):
    """What the cells of one column say. It is drawn where the column stands, not where it is."""

    def __init__(self, name: str, nodelist: NodeList) -> None:
        self.name = name
        self.said = nodelist

    def render(self, context: Context) -> SafeString:
        return SafeString("")


Blocks = dict[str, NodeList]
_BLOCKS: WeakKeyDictionary[Template, Blocks] = WeakKeyDictionary()


@register.tag
def cell(parser: Parser, token: Token) -> CellNode:
    """`{% cell "name" %}…{% endcell %}` in the template that a table's layout names."""
    name = token.split_contents()[1].strip('"')
    nodelist = parser.parse(("endcell",))
    parser.delete_first_token()
    return CellNode(name, nodelist)


@register.simple_tag(takes_context=True)
def cells(context: Context, table: Table[object], row: Row[object]) -> SafeString:
    """Draw the cells of a row in the order of the table's columns."""
    blocks = _blocks_of(table)
    with_row = context.new({**table.values, "row": row.item})
    classes = (_attributes(column) for column in table.columns)
    # What a template rendered is escaped already.
    texts = (SafeString(blocks[column.name].render(with_row).strip()) for column in table.columns)
    return format_html_join("", "<td{}>{}</td>", zip(classes, texts, strict=True))


@register.filter
def breakable(code: str) -> SafeString:
    """Let a code such as `rate_limit_exceeded` break after its underscores, and an address before
    its slashes."""
    return format_html_join(SafeString("<wbr>"), "{}", ([part] for part in BREAKS.split(code)))


@register.simple_tag(takes_context=True)
def group_heading(context: Context, table: Table[object], group: Group[object]) -> SafeString:
    return _blocks_of(table)[HEADING].render(context.new({"group": group}))


def _blocks_of(table: Table[object]) -> Blocks:
    """Return the blocks of the template of the cells by name."""
    found: Template = get_template(table.layout.cells).template  # type: ignore[attr-defined]
    if found not in _BLOCKS:
        nodes = found.nodelist.get_nodes_by_type(CellNode)
        _BLOCKS[found] = {node.name: node.said for node in nodes if isinstance(node, CellNode)}
    return _BLOCKS[found]


def _attributes(column: Column) -> SafeString:
    classes = column.cell_classes
    return format_html(' class="{}"', classes) if classes else SafeString("")
