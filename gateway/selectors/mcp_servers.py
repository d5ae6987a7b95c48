"""The MCP servers of a workspace, as people see them."""

from __future__ import annotations

from collections.abc import Sequence

from accounts.models import Workspace
from gateway.models import McpServer


def servers_of(workspace: Workspace) -> Sequence[McpServer]:
    return list(workspace.mcp_servers.all())


def default_plugins(workspace: Workspace) -> list[str]:
    """Return the plugins that calls of the workspace have without naming them."""
    rows = workspace.mcp_servers.filter(by_default=True, enabled=True)
    return [row.plugin for row in rows if usable_tools(row)]


def get_mcp_server(workspace: Workspace, name: str) -> McpServer:
    """Return the server of this name. Raises LookupError."""
    found = workspace.mcp_servers.filter(name=name).first()
    if found is None:
        raise LookupError(f"{workspace.name} has no MCP server named {name[:60]!r}.")
    return found


def usable_tools(server: McpServer) -> list[str]:
    """Return the names of the tools that calls may have."""
    names = [str(tool["name"]) for tool in server.tools]
    return [name for name in names if not server.allowed_tools or name in server.allowed_tools]
