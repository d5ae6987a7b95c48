"""set_mcp_server: add a remote MCP server to a workspace, or change one."""

from __future__ import annotations

import os
from argparse import ArgumentParser

from accounts.management.json_command import ACTOR, Answer, JsonCommand
from accounts.selectors import get_workspace
from accounts.untyped import Arguments, Options
from gateway.core.money import read_usd
from gateway.management.credential_options import add_variable_option
from gateway.management.mcp_options import describe_server
from gateway.models import McpServer
from gateway.services.mcp_servers import add_mcp_server, update_mcp_server

NONE = "none"


class Command(JsonCommand):
    help = (
        "Add a remote MCP server (streamable HTTP) to a workspace, or change one. Options that are "
        "not given do not change. Then run test_mcp_server, which lists the tools for calls. "
        "Changes apply within a second."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("workspace", help="Workspace ID, slug or name.")
        parser.add_argument("name", help="Name of the server. Requests use it as mcp:NAME.")
        parser.add_argument("--url", help="URL of its endpoint. Required for a new server.")
        parser.add_argument(
            "--header", metavar="NAME", help="Credential header. Default: authorization."
        )
        add_variable_option(parser, f"the value of the header, or `{NONE}` to remove it.")
        parser.add_argument(
            "--tool",
            action="append",
            metavar="NAME",
            help=f"Allowed tool. Repeatable; replaces the list. `{NONE}`: all tools.",
        )
        parser.add_argument("--price-usd", metavar="USD", help="Price per use. Default: 0.")
        parser.add_argument("--enabled", choices=["yes", "no"])
        parser.add_argument(
            "--by-default",
            choices=["yes", "no"],
            help="Whether all calls can use its tools. Default: no.",
        )

    def answer(self, *, workspace: str, name: str, **options: object) -> Answer:
        found = get_workspace(workspace)
        fields = {**read_fields(options)}
        row = McpServer.objects.filter(workspace=found, name=name.strip().lower()).first()
        if row is not None:
            changed = update_mcp_server(row, actor=ACTOR, **fields)
        elif "url" not in fields:
            raise ValueError("A new server needs --url.")
        else:
            changed = True
            fields["credential"] = fields.get("credential") or ""
            row = add_mcp_server(found, name=name, actor=ACTOR, **fields)
        row.refresh_from_db()
        return {"changed": changed, **describe_server(row)}

    def describe(self, answer: Answer) -> str:
        state = "is set" if answer["changed"] else "is as it was"
        return f"The MCP server {answer['name']} {state}."


def read_fields(options: Options) -> Arguments:
    """Return what was named, as the service takes it. Raises ValueError."""
    fields = {name: options[name] for name in ("url", "header") if options[name] is not None}
    variable = options["credential_env"]
    if variable == NONE:
        fields["credential"] = ""
    elif variable is not None:
        value = os.environ.get(str(variable), "")
        if not value:
            raise ValueError(f"The environment variable {variable} is not set.")
        fields["credential"] = value
    tools = options["tool"]
    if isinstance(tools, list):
        fields["allowed_tools"] = [] if tools == [NONE] else tools
    if options["price_usd"] is not None:
        fields["price_nusd"] = read_usd(str(options["price_usd"]))
    for name in ("enabled", "by_default"):
        if options[name] is not None:
            fields[name] = options[name] == "yes"
    return fields
