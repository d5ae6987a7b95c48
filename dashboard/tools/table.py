"""The list of server tools as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dashboard.ui.tables import Column, Layout, Shown, Table
from gateway.services.tool_settings import ToolLine
from gateway.tools.backends import LABELS


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedTool:
    """A row of the list. summary: the first sentence of what the model is told of it. problem: why
    calls cannot use it; empty where they can."""

    name: str
    summary: str
    problem: str
    is_enabled: bool
    answered_by: str
    has_credential: bool
    price_nusd: int
    unit: str


_LAYOUT = Layout[ListedTool](
    name="tool",
    label="Server tools",
    cells="dashboard/tools/_cells.html",
    css="name-table",
    columns=(
        Column("tool", "Tool", grows=True),
        Column("state", "State", shown=Shown.WIDE),
        Column("backend", "Service", shown=Shown.WIDE),
        Column("credential", "Credential", shown=Shown.WIDE),
        Column("price", "Price", is_number=True),
    ),
    row_id=lambda row: row.name,
    is_faded=lambda row: not row.is_enabled,
)


def tool_table(lines: Sequence[ToolLine]) -> Table[ListedTool]:
    return _LAYOUT.fill([list_tool(line) for line in lines])


def list_tool(line: ToolLine) -> ListedTool:
    tool, setting = line
    backend = "" if setting is None else setting.backend
    return ListedTool(
        name=tool.name,
        summary=f"{tool.description.partition('. ')[0].rstrip('.')}.",
        problem=line.problem,
        is_enabled=setting is None or setting.enabled,
        answered_by=LABELS.get(backend, backend) or ("" if setting is None else setting.model),
        has_credential=setting is not None and setting.secret is not None,
        price_nusd=line.price_nusd,
        unit=tool.unit,
    )
