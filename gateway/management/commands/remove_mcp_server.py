"""remove_mcp_server: remove an MCP server from a workspace."""

from __future__ import annotations

from argparse import ArgumentParser

from accounts.management.json_command import ACTOR, Answer, JsonCommand
from accounts.selectors import get_workspace
from gateway.selectors.mcp_servers import get_mcp_server
from gateway.services.mcp_servers import remove_mcp_server


class Command(JsonCommand):
    help = "Remove an MCP server. Requests that use it are refused within a second."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("workspace", help="Workspace ID, slug or name.")
        parser.add_argument("name", help="Name of the MCP server.")

    def answer(self, *, workspace: str, name: str, **_: object) -> Answer:
        row = get_mcp_server(get_workspace(workspace), name)
        remove_mcp_server(row, actor=ACTOR)
        return {"removed": row.name}

    def describe(self, answer: Answer) -> str:
        return f"The MCP server {answer['removed']} is removed."
