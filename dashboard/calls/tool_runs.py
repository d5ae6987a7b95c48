"""What server tools did for a call: which ran, in which round, for how long, and what it cost.

The record has the names of the arguments, never what they were: that is in the stored bodies, where
a workspace stores them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dashboard.ui.tables import Column, Layout, Shown, Table

LABELS = {
    "ok": ("Completed", "badge-ok"),
    "failed": ("Failed", "badge-bad"),
    "timeout": ("Timed out", "badge-bad"),
    "refused": ("Not run", "badge-warn"),
    "cancelled": ("Cancelled", "badge-warn"),
    "withheld": ("Withheld", "badge-warn"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRunLine:
    """A run. function: empty where the plugin has one tool of its own name."""

    plugin: str
    function: str
    round: int
    status: str
    badge: str
    arguments: Sequence[str]
    us: int
    units: int
    nusd: int


_RUNS = Layout[ToolRunLine](
    name="tool-run",
    label="Runs of server tools, in the order in which they ended",
    cells="dashboard/calls/_tool_run_cells.html",
    columns=(
        Column("round", "Round", is_number=True),
        Column("tool", "Tool"),
        Column("status", "Status"),
        Column("arguments", "Arguments", grows=True, shown=Shown.WIDE),
        Column("time", "Time", is_number=True),
        Column("cost", "Cost", is_number=True),
    ),
    opens=False,
)


def tool_run_table(runs: object) -> Table[ToolRunLine]:
    """runs: those of the record (gateway.core.receipt.ToolRun, as JSON); None for none."""
    found = runs if isinstance(runs, list) else []
    return _RUNS.fill([_line(run) for run in found if isinstance(run, dict)])


def _line(run: Mapping[str, object]) -> ToolRunLine:
    status = str(run.get("status", ""))
    label, badge = LABELS.get(status, (status, "badge-warn"))
    arguments = run.get("arguments")
    return ToolRunLine(
        plugin=str(run.get("plugin", "")),
        function=str(run.get("function", "")),
        round=_number(run, "round"),
        status=label,
        badge=badge,
        arguments=[str(name) for name in arguments] if isinstance(arguments, list) else [],
        us=_number(run, "us"),
        units=_number(run, "units"),
        nusd=_number(run, "nusd"),
    )


def _number(run: Mapping[str, object], name: str) -> int:
    value = run.get(name, 0)
    return value if isinstance(value, int) else 0
