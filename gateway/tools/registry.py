"""Every server tool, by its name."""

from __future__ import annotations

from gateway.tools.base import ServerTool

TOOLS: dict[str, ServerTool] = {}
