"""MCP servers as commands show them."""

from __future__ import annotations

from accounts.management.json_command import Answer
from gateway.core.money import format_usd
from gateway.models import McpServer
from gateway.selectors.mcp_servers import usable_tools


def describe_server(row: McpServer) -> Answer:
    """Return what --json shows of a server, never its credential."""
    listed_at = row.tools_listed_at
    return {
        "name": row.name,
        "plugin": row.plugin,
        "url": row.url,
        "enabled": row.enabled,
        "by_default": row.by_default,
        "header": row.header,
        "has_credential": row.secret is not None,
        "tools": [str(tool["name"]) for tool in row.tools],
        "usable_tools": usable_tools(row),
        "allowed_tools": row.allowed_tools,
        "price_usd": format_usd(row.price_nusd),
        "tools_listed_at": listed_at.isoformat() if listed_at else None,
    }
