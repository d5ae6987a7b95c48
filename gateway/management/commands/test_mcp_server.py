"""test_mcp_server: ask an MCP server for its tools."""

from __future__ import annotations

from argparse import ArgumentParser

from accounts.management.json_command import ACTOR, Answer, JsonCommand
from accounts.selectors import get_workspace
from gateway.management.mcp_options import describe_server
from gateway.selectors.mcp_servers import get_mcp_server
from gateway.services.mcp_servers import list_mcp_tools


class Command(JsonCommand):
    help = "List the tools of an MCP server. Calls use this list from then on."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("workspace", help="Workspace ID, slug or name.")
        parser.add_argument("name", help="Name of the MCP server.")

    def answer(self, *, workspace: str, name: str, **_: object) -> Answer:
        row = get_mcp_server(get_workspace(workspace), name)
        list_mcp_tools(row, actor=ACTOR)
        return describe_server(row)

    def describe(self, answer: Answer) -> str:
        tools = answer["tools"]
        assert isinstance(tools, list)
        return f"{answer['name']} has {len(tools)} tools: {', '.join(tools)}."
