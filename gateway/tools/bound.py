"""A server tool as one call has it: with its price, its options and its context."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gateway.core.server_tools import ToolResult
from gateway.tools.base import ServerTool, ToolContext


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundTool:
    """A CallTool (gateway.core.server_tools)."""

    tool: ServerTool
    plugin: str
    context: ToolContext
    shows_events: bool

    @property
    def function(self) -> str:
        return self.tool.name

    @property
    def description(self) -> str:
        return self.tool.description

    @property
    def parameters(self) -> Mapping[str, object]:
        return self.tool.parameters

    @property
    def nusd_each(self) -> int:
        return self.context.record.nusd_each

    @property
    def max_units(self) -> int:
        return self.tool.max_units

    @property
    def max_runs(self) -> int:
        return self.tool.max_runs

    async def run(self, arguments: Mapping[str, object]) -> ToolResult:
        return await self.tool.run(arguments, self.context)
