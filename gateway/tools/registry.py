"""Every server tool and every family of them, by its name."""

from __future__ import annotations

from gateway.tools.base import ServerTool, ToolFamily
from gateway.tools.datetime import DateTime
from gateway.tools.image import Image
from gateway.tools.mcp import McpFamily
from gateway.tools.pdf import Pdf
from gateway.tools.web_fetch import WebFetch
from gateway.tools.web_search import WebSearch

ALL: list[ServerTool] = [WebSearch(), WebFetch(), Pdf(), DateTime(), Image()]
TOOLS: dict[str, ServerTool] = {tool.name: tool for tool in ALL}
# Plugins named <family>:<name>.
FAMILIES: dict[str, ToolFamily] = {family.name: family for family in [McpFamily()]}
# Names that other gateways have for the same.
ALIASES = {"web": "web_search", "file-parser": "pdf"}


def family_of(plugin: str) -> tuple[ToolFamily, str] | None:
    """Return the family that a plugin is of, and the name in it."""
    name, colon, rest = plugin.partition(":")
    family = FAMILIES.get(name) if colon and rest else None
    return None if family is None else (family, rest)
