"""list_mcp_servers: the MCP servers of a workspace."""

from __future__ import annotations

from argparse import ArgumentParser

from accounts.management.json_command import Answer, JsonCommand
from accounts.selectors import get_workspace
from gateway.management.mcp_options import describe_server
from gateway.selectors.mcp_servers import servers_of


class Command(JsonCommand):
    help = "List the MCP servers of a workspace, with their tools."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("workspace", help="Workspace ID, slug or name.")

    def answer(self, *, workspace: str, **_: object) -> Answer:
        found = get_workspace(workspace)
        return {"mcp_servers": [describe_server(row) for row in servers_of(found)]}

    def describe(self, answer: Answer) -> str:
        servers = answer["mcp_servers"]
        assert isinstance(servers, list)
        lines = [
            f"{one['plugin']}  {one['url']}  {len(one['usable_tools'])} tools" for one in servers
        ]
        return "\n".join(lines) or "The workspace has no MCP servers."
