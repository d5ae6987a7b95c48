"""The settings of server tools, as calls of a workspace have them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRecord:
    """A tool: what answers it, and what it costs. Secrets stay out of repr."""

    tool: str
    is_enabled: bool = True
    # Of gateway.tools.backends; empty for a tool that needs none.
    backend: str = ""
    base_url: str = ""
    secret: str = field(default="", repr=False)
    # The credential cannot be decrypted, or its variable is not set.
    problem: str = ""
    # The workspace has set it: its address is not the operator's.
    is_own: bool = False
    # The price of a unit.
    nusd_each: int = 0
    # The public name of the model that makes images.
    model: str = ""
    # The documents of a static index: title, url, text.
    documents: tuple[Mapping[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class McpToolRecord:
    """A tool of an MCP server, as it was when the workspace last listed its tools."""

    name: str
    description: str
    schema: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServerRecord:
    """A remote MCP server of a workspace. tools: those that calls may have. nusd_each: the price
    of a use. problem: why its credential cannot be read."""

    name: str
    url: str
    is_enabled: bool = True
    # Calls have its tools without naming it.
    is_default: bool = False
    tools: tuple[McpToolRecord, ...] = ()
    nusd_each: int = 0
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceTools:
    """What is set of tools for a workspace, its own settings in the place of the
    installation's."""

    records: Mapping[str, ToolRecord] = field(default_factory=lambda: MappingProxyType({}))
    # By their names.
    mcp_servers: Mapping[str, McpServerRecord] = field(default_factory=lambda: MappingProxyType({}))
