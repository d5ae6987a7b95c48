"""What the process that fetches is asked for, and what it answers (gateway.egress.fetch_worker)."""

from __future__ import annotations

import msgspec

from gateway.core.egress import HostRules

MAX_FILE_BYTES = 20 * 1024 * 1024
FETCH_S = 20.0
MCP_UNREACHABLE = "The MCP server could not be reached, or its response is not valid."


class Order(msgspec.Struct, array_like=True, kw_only=True):
    """One address to fetch from. owner: for whom. max_bytes: of the body of the answer. limit_s:
    for all of it, waiting for a turn included."""

    url: str
    owner: str
    hosts: HostRules = HostRules()
    max_bytes: int = MAX_FILE_BYTES
    limit_s: float = FETCH_S
    # Empty: GET, and redirects are followed. Otherwise what answers is told whatever its status.
    method: str = ""
    headers: dict[str, str] = {}
    content: bytes = b""


class McpOrder(msgspec.Struct, array_like=True, kw_only=True):
    """One question to an MCP server: for its tools, or to run one. headers: its credential."""

    url: str
    owner: str
    hosts: HostRules = HostRules()
    headers: dict[str, str] = {}
    max_bytes: int = 1024 * 1024
    limit_s: float = FETCH_S
    # Empty: which tools there are.
    tool: str = ""
    arguments: dict[str, object] = {}


class Wish(msgspec.Struct, array_like=True):
    """Neither order nor question: the number is no longer wanted."""

    number: int
    order: Order | None = None
    question: McpOrder | None = None


class McpTool(msgspec.Struct, array_like=True, frozen=True):
    """A tool of an MCP server, as the server describes it."""

    name: str
    description: str
    schema: dict[str, object]


class McpAnswer(msgspec.Struct, array_like=True):
    """tools: where it was asked for them. text: what a tool returned; is_error: it says that it
    failed."""

    tools: list[McpTool] = []
    text: str = ""
    is_error: bool = False


class Fetched(msgspec.Struct, array_like=True, frozen=True):
    """A complete answer. name: as its server calls the file; url: where the last redirect led."""

    content: bytes
    status: int
    name: str = ""
    url: str = ""
    content_type: str = ""


class Outcome(msgspec.Struct, array_like=True):
    """What was fetched, or why nothing was, to be shown to the caller."""

    number: int
    fetched: Fetched | None = None
    refusal: str = ""
    answer: McpAnswer | None = None
