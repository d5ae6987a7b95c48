"""What is set of server tools, read for the hot path."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from uuid import UUID

from django.db.models import Q

from gateway.models import McpServer, ToolSetting
from gateway.services.credential_encryption import DecryptionFailed, decrypt
from gateway.snapshot.tools import (
    McpServerRecord,
    McpToolRecord,
    ToolRecord,
    WorkspaceTools,
)


def load_workspace_tools(workspace_ids: Sequence[str]) -> list[WorkspaceTools]:
    """Return what is set for each workspace: in its own rows and in the installation's. Two
    queries; call in a thread. Raises django.db.Error."""
    rows = ToolSetting.objects.filter(Q(workspace=None) | Q(workspace__in=workspace_ids))
    general: dict[str, list[ToolSetting]] = {}
    own: dict[tuple[UUID, str], ToolSetting] = {}
    for row in rows:
        if row.workspace_id is None:
            general[row.tool] = [row]
        else:
            own[row.workspace_id, row.tool] = row
    servers = _load_servers(workspace_ids)
    found = []
    for workspace_id in map(UUID, workspace_ids):
        by_tool = dict(general)
        for (owner, tool), row in own.items():
            if owner == workspace_id:
                by_tool[tool] = [row, *general.get(tool, ())]
        records = {tool: effective_record(rows) for tool, rows in by_tool.items()}
        own_servers = {server.name: server for server in servers.get(workspace_id, ())}
        found.append(
            WorkspaceTools(
                records=MappingProxyType(records), mcp_servers=MappingProxyType(own_servers)
            )
        )
    return found


def _load_servers(workspace_ids: Sequence[str]) -> dict[UUID, list[McpServerRecord]]:
    found: dict[UUID, list[McpServerRecord]] = {}
    for row in McpServer.objects.filter(workspace__in=map(UUID, workspace_ids)):
        found.setdefault(row.workspace_id, []).append(compile_server(row))
    return found


def compile_server(row: McpServer) -> McpServerRecord:
    """Return the record of an MCP server, its credential decrypted."""
    headers, problem = {}, ""
    try:
        headers = headers_of(row)
    except DecryptionFailed:
        problem = "Its credential cannot be decrypted."
    tools = tuple(
        McpToolRecord(name=tool["name"], description=tool["description"], schema=tool["schema"])
        for tool in row.tools
        if not row.allowed_tools or tool["name"] in row.allowed_tools
    )
    return McpServerRecord(
        name=row.name,
        url=row.url,
        is_enabled=row.enabled,
        is_default=row.by_default,
        tools=tools,
        nusd_each=row.price_nusd,
        headers=MappingProxyType(headers),
        problem=problem,
    )


def headers_of(row: McpServer) -> dict[str, str]:
    """Return what the server is shown. Raises DecryptionFailed."""
    if row.secret is None:
        return {}
    return {row.header: decrypt(bytes(row.secret), row.pk)}


def effective_record(rows: list[ToolSetting]) -> ToolRecord:
    """Return a tool as it is for a workspace. rows: that of the workspace, of the installation, or
    both."""
    own = next((row for row in rows if row.workspace_id is not None), None)
    general = next((row for row in rows if row.workspace_id is None), None)
    is_enabled = all(row.enabled for row in rows)
    # What answers by the workspace's own account costs nothing here.
    if own is not None and own.backend:
        return compile_record(own, is_enabled=is_enabled, nusd_each=0)
    if general is None:
        assert own is not None
        return ToolRecord(tool=own.tool, is_enabled=is_enabled)
    return compile_record(general, is_enabled=is_enabled, nusd_each=general.price_nusd)


def compile_record(row: ToolSetting, *, is_enabled: bool, nusd_each: int) -> ToolRecord:
    """Return the record of a row, its secret decrypted."""
    secret = problem = ""
    if row.secret is not None:
        try:
            secret = decrypt(bytes(row.secret), row.pk)
        except DecryptionFailed:
            problem = "Its credential cannot be decrypted."
    return ToolRecord(
        tool=row.tool,
        is_enabled=is_enabled,
        backend=row.backend,
        base_url=row.base_url,
        secret=secret,
        problem=problem,
        is_own=row.workspace_id is not None,
        nusd_each=nusd_each,
        model=row.model,
        documents=tuple(row.documents),
    )
