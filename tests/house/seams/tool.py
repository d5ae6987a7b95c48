"""A server tool: adds numbers up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from gateway.core.server_tools import ToolResult
from gateway.tools.base import ServerTool, ToolContext


class Sum(ServerTool):
    """A ServerTool (gateway.tools.base)."""

    name = "sum"
    description = "Adds numbers."
    parameters: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "properties": {"numbers": {"type": "array", "items": {"type": "number"}}},
    }
    nusd_each = 7_000

    async def run(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        numbers = arguments["numbers"]
        assert isinstance(numbers, list)
        return ToolResult(content={"sum": sum(numbers)})
