"""Tools of remote MCP servers that a workspace has added: plugins named mcp:<server>."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import ClassVar

from gateway.core.egress import NotFetched
from gateway.core.errors import PluginUnavailable
from gateway.core.server_tools import ToolResult
from gateway.snapshot.tools import McpServerRecord, McpToolRecord, WorkspaceTools
from gateway.tools.base import NoOptions, ServerTool, ToolContext, ToolFailed, ToolFamily

FAMILY = "mcp"
# With the prefix of the gateway's tools at most 64.
MAX_NAME_CHARS = 61
MAX_RESULT_BYTES = 1024 * 1024
MAX_RESULT_CHARS = 100_000
LIMIT_S = 45.0
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")


class McpTool(ServerTool):
    """One tool of a server. Another server or tool never has the same name."""

    def __init__(self, server: McpServerRecord, tool: McpToolRecord) -> None:
        self.name = function_name(server.name, tool.name)
        self.description = tool.description
        self.nusd_each = server.nusd_each  # type: ignore[misc]
        self._server = server
        self._tool = tool

    @property
    def parameters(self) -> Mapping[str, object]:
        return self._tool.schema

    async def run(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        server = self._server
        try:
            answer = await context.services.egress.ask_mcp(
                server.url,
                context.requester,
                headers=server.headers,
                tool=self._tool.name,
                arguments=arguments,
                limit_s=LIMIT_S,
                max_bytes=MAX_RESULT_BYTES,
            )
        except NotFetched as error:
            raise ToolFailed(error.message) from None
        text = answer.text
        if len(text) > MAX_RESULT_CHARS:
            text = f"{text[:MAX_RESULT_CHARS]}\n[The rest of the result is left out.]"
        if answer.is_error:
            raise ToolFailed(text or "The tool failed.")
        return ToolResult(content=text)


class McpFamily(ToolFamily):
    """Finds the tools of a workspace's servers, as they were when they were last listed: no server
    is asked before a call is admitted."""

    name = FAMILY
    options: ClassVar = NoOptions

    async def find(self, name: str, context: ToolContext) -> Sequence[ServerTool]:
        server = context.workspace.mcp_servers.get(name)
        if server is None:
            raise PluginUnavailable(f"The workspace has no MCP server named {name[:64]}.")
        if not server.is_enabled:
            raise PluginUnavailable(f"The MCP server {name} is disabled.")
        if server.problem:
            raise PluginUnavailable(f"The MCP server {name} cannot be used: {server.problem}")
        if not server.tools:
            raise PluginUnavailable(
                f"The MCP server {name} has no tools that are listed and allowed."
            )
        return [McpTool(server, tool) for tool in server.tools]

    def defaults(self, workspace: WorkspaceTools) -> Sequence[str]:
        return [
            server.name
            for server in workspace.mcp_servers.values()
            if server.is_default and server.is_enabled and server.tools and not server.problem
        ]


def function_name(server: str, tool: str) -> str:
    """Return the name by which a model knows a tool of a server. Names that had to be changed end
    in a part of their hash, so that no two are the same."""
    plain = f"mcp_{server}_{tool}"
    name = _NOT_IN_NAMES.sub("_", plain)
    if name == plain and len(name) <= MAX_NAME_CHARS:
        return name
    digest = hashlib.sha256(plain.encode()).hexdigest()[:8]
    return f"{name[: MAX_NAME_CHARS - len(digest) - 1]}_{digest}"
