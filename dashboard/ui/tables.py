"""Tables of lists. Their columns are described here once; components/_table.html draws them all.

What the cells say is in one template for each table: a `{% cell "name" %}` block for each column,
in any order. A table is a Layout, written once in a feature's table.py, filled with rows by a view.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from enum import StrEnum
from typing import Generic, NamedTuple, TypedDict, TypeVar, Unpack

Item = TypeVar("Item")


class Shown(StrEnum):
    """From which width of the page on a column is shown. The values are classes of tables.css."""

    ALWAYS = ""
    WIDE = "wide-only"
    WIDER = "wider-only"
    WIDEST = "widest-only"


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its head, and how its cells are laid out."""

    name: str  # of its block in the template of the cells
    head: str
    _: KW_ONLY
    shown: Shown = Shown.ALWAYS
    is_number: bool = False  # stands at the end of the cell, under digits of the same place
    grows: bool = False  # a column of names: takes the room that is left, cuts what does not fit
    css: str = ""  # further classes of head and cells
    cell_css: str = ""  # further classes of cells alone
    title: str = ""  # what the head means, where that needs more words
    is_head_hidden: bool = False  # the head is for screen readers only
    suffix: str = ""  # more of the head, where suffix_css shows it
    suffix_css: str = ""

    @property
    def head_classes(self) -> str:
        words = ("num" if self.is_number else "", "cell-grow" if self.grows else "")
        return " ".join(filter(None, (*words, self.shown.value, self.css)))

    @property
    def cell_classes(self) -> str:
        return " ".join(filter(None, (self.head_classes, self.cell_css)))


@dataclass(frozen=True, slots=True)
class Empty:
    """What stands instead of a table without rows, and the next step where the page's head has no
    button for it."""

    icon: str
    title: str
    text: str
    _: KW_ONLY
    href: str = ""
    action: str = ""  # the words on the button that leads to href


@dataclass(frozen=True, slots=True)
class Pager:
    """Links to the pages before and after this one. An address is empty where there is none."""

    words: str  # what this page shows
    _: KW_ONLY
    older_url: str = ""
    newer_url: str = ""
    newest_url: str = ""
    label: str = "Pages of this list"
    target: str = ""  # the id of what htmx swaps; empty: the whole page is loaded
    swap: str = "outerHTML"

    @property
    def links(self) -> list[PageLink]:
        links = (
            PageLink("Newest", self.newest_url, ""),
            PageLink("Newer", self.newer_url, "prev"),
            PageLink("Older", self.older_url, "next"),
        )
        return [link for link in links if link.url]


class PageLink(NamedTuple):
    """A link to another page of a list. rel: its relation to this one."""

    words: str
    url: str
    rel: str


@dataclass(frozen=True, slots=True)
class Row(Generic[Item]):
    """A row as it is drawn."""

    item: Item  # `row` in the template of the cells
    id: str
    is_faded: bool


@dataclass(frozen=True, slots=True)
class Group(Generic[Item]):
    """Rows that belong together, under a heading of their own: `group` in the block "group"."""

    heading: object
    items: Sequence[Item]


@dataclass(frozen=True, kw_only=True)
class Layout(Generic[Item]):
    """What is the same for every request: the columns, and what a row is known by."""

    name: str  # the table's id is NAME-table, a row's NAME-row-ID
    cells: str  # the template of the cells
    columns: Sequence[Column]
    label: str = ""  # of the region that scrolls sideways; empty: the table stands in a card
    css: str = ""
    row_id: Callable[[Item], object] | None = None  # without: rows have no id
    is_faded: Callable[[Item], bool] | None = None
    opens: bool = True  # a row's first link covers all of it

    def fill(
        self, items: Sequence[Item], *, without: Collection[str] = (), **shown: Unpack[Around]
    ) -> Table[Item]:
        """Return the table of these rows. without: names of columns that are left out."""
        return self.fill_groups([Group(None, items)], without=without, **shown)

    def fill_groups(
        self,
        groups: Sequence[Group[Item]],
        *,
        without: Collection[str] = (),
        **shown: Unpack[Around],
    ) -> Table[Item]:
        columns = [column for column in self.columns if column.name not in without]
        return Table(layout=self, columns=columns, groups=groups, **shown)


class Around(TypedDict, total=False):
    """What a table says besides its rows."""

    empty: Empty | None
    pager: Pager | None
    note: str
    last_row: str
    values: Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class Table(Generic[Item]):
    """A layout filled with rows: what components/_table.html takes."""

    layout: Layout[Item]
    columns: Sequence[Column]
    groups: Sequence[Group[Item]]
    empty: Empty | None = None  # instead of a table without rows
    pager: Pager | None = None
    note: str = ""  # a sentence below the table
    last_row: str = ""  # a sentence in a row of its own, behind the others
    values: Mapping[str, object] = field(default_factory=dict)  # for the cells, besides their row

    @property
    def id(self) -> str:
        return f"{self.layout.name}-table"

    @property
    def items(self) -> list[Item]:
        return [item for group in self.groups for item in group.items]

    @property
    def bodies(self) -> Iterator[tuple[Group[Item], list[Row[Item]]]]:
        """Yield each group with its rows."""
        for group in self.groups:
            yield group, [self._row(item) for item in group.items]

    def _row(self, item: Item) -> Row[Item]:
        layout = self.layout
        row_id = f"{layout.name}-row-{layout.row_id(item)}" if layout.row_id else ""
        return Row(item, row_id, is_faded=layout.is_faded is not None and layout.is_faded(item))
