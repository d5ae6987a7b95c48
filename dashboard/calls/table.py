"""The tables of calls: the list, and the attempts of one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dashboard.calls.filters import CallQuery
from dashboard.calls.rows import CallRow
from dashboard.ui.tables import Column, Empty, Layout, Pager, Shown, Table

TARGET = "calls"
_CALLS = Layout[CallRow](
    name="call",
    label="Calls, newest first",
    css="call-table",
    cells="dashboard/calls/_cells.html",
    columns=(
        Column("time", "Time, UTC", cell_css="nowrap"),
        Column("status", "Status"),
        Column(
            "model",
            "Model",
            grows=True,
            shown=Shown.WIDE,
            suffix=", key",
            suffix_css="until-wider",
        ),
        Column("key", "Key", grows=True, shown=Shown.WIDER),
        Column(
            "tokens",
            "Tokens in / out",
            is_number=True,
            shown=Shown.WIDER,
            title="Prompt and completion tokens",
        ),
        Column("cost", "Cost", is_number=True),
        Column("total", "Total", is_number=True, shown=Shown.WIDE),
        Column(
            "added",
            "Added",
            is_number=True,
            shown=Shown.WIDER,
            title="Total time minus provider time, including failed attempts",
        ),
        Column("timing", "Timing", shown=Shown.WIDEST, is_head_hidden=True),
    ),
    row_id=lambda row: row.call.id,
)


class Attempt(NamedTuple):
    """An attempt, in the order in which they were made."""

    number: int
    made: Mapping[str, object]  # as the record has it


_ATTEMPTS = Layout[Attempt](
    name="attempt",
    label="Providers tried, in order",
    cells="dashboard/calls/_attempt_cells.html",
    columns=(
        Column("number", "#", shown=Shown.WIDE),
        Column("provider", "Provider"),
        Column("credential", "Credential", shown=Shown.WIDER, cell_css="cell-clip"),
        Column("model", "Provider model ID", shown=Shown.WIDE, cell_css="cell-clip"),
        Column("outcome", "Outcome"),
        Column("status", "HTTP", is_number=True, shown=Shown.WIDE),
        Column("time", "Time", is_number=True),
    ),
    opens=False,
)


def call_table(rows: Sequence[CallRow], empty: Empty | None) -> Table[CallRow]:
    return _CALLS.fill(rows, empty=empty)


def call_pager(query: CallQuery, *, here: str, shown: int, newer: str, older: str) -> Pager | None:
    """newer, older: the queries of the pages beside this one, empty where there is none."""
    if not newer and not older:
        return None
    return Pager(
        f"{shown} calls on this page, newest first",
        label="Pages of calls",
        target=TARGET,
        swap="outerHTML show:window:top",
        newest_url=f"{here}?{query.query}" if newer else "",
        newer_url=f"{here}?{newer}" if newer else "",
        older_url=f"{here}?{older}" if older else "",
    )


def no_calls(query: CallQuery, *, here: str, keys_url: str, is_later_page: bool) -> Empty:
    """Return what is said when the filters find nothing."""
    if query.error:
        return Empty(icon="calendar-range", title="Invalid period", text=query.error)
    if query.narrows or is_later_page:
        return Empty(
            icon="search-x",
            title="No matching calls",
            text="Remove a filter, or choose a longer period.",
            href=here,
            action="Clear filters",
        )
    return Empty(
        icon="activity",
        title="No calls in this period",
        text="Calls appear here within a second, with cost and timing.",
        href=keys_url,
        action="Go to keys",
    )


def attempt_table(attempts: Sequence[Mapping[str, object]]) -> Table[Attempt]:
    return _ATTEMPTS.fill([Attempt(number, made) for number, made in enumerate(attempts, 1)])
