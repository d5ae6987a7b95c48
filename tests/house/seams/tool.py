"""A server tool: adds numbers up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar


class Sum:
    """A ServerTool (gateway.tools.base)."""

    name = "sum"
    description = "Adds numbers."
    parameters: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "properties": {"numbers": {"type": "array", "items": {"type": "number"}}},
    }
    nusd_each = 7_000

    async def run(self, arguments: Mapping[str, object]) -> object:
        numbers = arguments["numbers"]
        assert isinstance(numbers, list)
        return {"sum": sum(numbers)}
