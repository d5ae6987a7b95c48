"""The tables of the overview: top models and keys, errors, the newest calls that failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dashboard.calls.rows import CallRow
from dashboard.overview.error_rows import ErrorRow, ErrorTables
from dashboard.overview.figures import Overview, Ranked
from dashboard.ui.tables import Column, Layout, Shown, Table


def _ranked(name: str, noun: str) -> Layout[Ranked]:
    return Layout[Ranked](
        name=name,
        cells="dashboard/overview/_ranked_cells.html",
        columns=(
            Column("name", noun, grows=True),
            Column("share", "Share", shown=Shown.WIDE, css="ranked-bar", is_head_hidden=True),
            Column("calls", "Calls", is_number=True),
            Column("errors", "Errors", is_number=True),
            Column("spend", "Spend", is_number=True),
        ),
    )


def _errors(name: str, noun: str) -> Layout[ErrorRow]:
    return Layout[ErrorRow](
        name=name,
        css="error-table",
        cells="dashboard/overview/_error_cells.html",
        columns=(
            Column("name", noun, grows=True),
            Column("trend", "Trend", shown=Shown.WIDE, is_head_hidden=True),
            Column("errors", "Errors", is_number=True),
            Column("share", "Share", is_number=True, shown=Shown.WIDE, css="wide-card-only"),
            Column("started", "Started, UTC"),
            Column("last", "Last", shown=Shown.WIDE),
        ),
    )


_MODELS = _ranked("top-model", "Model")
_KEYS = _ranked("top-key", "Key")
_BY_PROVIDER = _errors("error-provider", "Provider")
_BY_CODE = _errors("error-code", "Code")
_FAILED = Layout[CallRow](
    name="failed-call",
    cells="dashboard/overview/_failed_cells.html",
    columns=(
        Column("when", "When"),
        Column("status", "Status"),
        Column("error", "Error", cell_css="cell-code mono"),
        Column("model", "Model", shown=Shown.WIDE, cell_css="cell-clip"),
        Column("key", "Key", shown=Shown.WIDE, cell_css="cell-clip"),
    ),
)


@dataclass(frozen=True, slots=True)
class OverviewTables:
    """Variables of dashboard/overview/_figures.html."""

    models: Table[Ranked]
    keys: Table[Ranked]
    errors_by_provider: Table[ErrorRow]
    errors_by_code: Table[ErrorRow]
    failed: Table[CallRow]


def overview_tables(
    overview: Overview,
    errors: ErrorTables,
    failed: Sequence[CallRow],
    links: Mapping[str, object],
) -> OverviewTables:
    """links: calls (the address of the list of calls) and query (what the period is in it)."""
    return OverviewTables(
        models=_top(_MODELS, overview.models, links),
        keys=_top(_KEYS, overview.keys, links),
        errors_by_provider=_most(_BY_PROVIDER, errors.by_provider, errors.more_providers, links),
        errors_by_code=_most(_BY_CODE, errors.by_code, errors.more_codes, links),
        failed=_FAILED.fill(failed, last_row="" if failed else "No call failed in this period."),
    )


def _top(
    layout: Layout[Ranked], rows: Sequence[Ranked], links: Mapping[str, object]
) -> Table[Ranked]:
    return layout.fill(rows, last_row="" if rows else "None in this period.", values=links)


def _most(
    layout: Layout[ErrorRow], rows: Sequence[ErrorRow], more: int, links: Mapping[str, object]
) -> Table[ErrorRow]:
    words = f"{more} more with fewer errors." if more else ""
    return layout.fill(rows, last_row=words, values=links)
