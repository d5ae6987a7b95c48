"""The only module that writes the MCP servers of workspaces. No credential is ever returned."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import TypedDict, Unpack

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from accounts.all_errors import raising_all
from accounts.changes import differences, record_audit, record_change
from accounts.ids import new_id
from accounts.models import ConfigChange, Workspace
from accounts.text import is_visible
from gateway.core.egress import HostRules, NotFetched
from gateway.core.json_types import JsonObject, JsonValue
from gateway.egress.fetch_process import FetchProcess
from gateway.egress.orders import MCP_UNREACHABLE, McpOrder, McpTool
from gateway.models import McpServer
from gateway.outbound.permitted_addresses import read_networks
from gateway.services.addresses import PUBLIC_ONLY, check_public_url, origin_of
from gateway.services.credential_encryption import DecryptionFailed, encrypt
from gateway.services.snapshot_tools import headers_of
from keys.access import access_rules_of

MAX_SERVERS = 50
MAX_TOOLS = 200
MAX_SECRET_CHARS = 4_096
LEAST_CHARS_SHOWN = 12
MAX_PRICE_NUSD = 10**12
LIST_S = 20.0
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,28}[a-z0-9])?")
_HEADER = re.compile(r"[a-z0-9]([a-z0-9-]{0,58}[a-z0-9])?")
# What the protocol, the connection or the gateway says itself.
_TAKEN = frozenset(
    {"accept", "accept-encoding", "connection", "content-length", "content-type", "cookie", "host"}
    | {"mcp-protocol-version", "mcp-session-id", "te", "transfer-encoding", "upgrade"}
)


class ServerFields(TypedDict, total=False):
    """by_default: calls have its tools without naming it. allowed_tools: empty for all."""

    url: str
    enabled: bool
    by_default: bool
    header: str
    allowed_tools: Sequence[str]
    price_nusd: int


@transaction.atomic
def add_mcp_server(
    workspace: Workspace,
    *,
    name: str,
    credential: str = "",
    actor: str,
    **fields: Unpack[ServerFields],
) -> McpServer:
    """Add a server. credential: the whole value of its header, empty for none. Its tools have yet
    to be listed. Raises ValidationError for the field."""
    if workspace.mcp_servers.count() >= MAX_SERVERS:
        raise ValidationError({"name": f"A workspace has at most {MAX_SERVERS} MCP servers."})
    row = McpServer(id=new_id(), workspace=workspace, name=name.strip().lower())
    details = _put(row, dict(fields))
    with raising_all() as gather:
        with gather():
            if credential:
                _put_credential(row, credential)
        with gather():
            _check(row)
    row.save()
    _record(row, "add_mcp_server", actor, {"name": row.name, **details, "hint": row.hint})
    if row.by_default:
        _tell_keys(row)
    return row


@transaction.atomic
def update_mcp_server(
    row: McpServer,
    *,
    credential: str | None = None,
    actor: str,
    **fields: Unpack[ServerFields],
) -> bool:
    """Change what is given. credential: None keeps the one there is, unless the URL leads to
    another host: it is not sent there, and has to be entered again. Returns False when nothing is
    different. Raises ValidationError."""
    old_url = row.url
    details = _put(row, dict(fields))
    _check(row)
    if credential:
        _put_credential(row, credential)
        details["credential"] = "replaced"
    elif credential == "" and row.secret is not None:
        row.secret, row.hint = None, ""
        details["credential"] = "removed"
    elif row.secret is not None and origin_of(row.url) != origin_of(old_url):
        words = "Enter the credential again because the host changed."
        raise ValidationError({"credential": words})
    if "url" in details:
        row.tools, row.tools_listed_at = [], None
    if details:
        row.save()
        _record(row, "update_mcp_server", actor, details)
    if "by_default" in details:
        _tell_keys(row)
    return bool(details)


@transaction.atomic
def remove_mcp_server(row: McpServer, *, actor: str) -> None:
    """Calls that run keep its tools until they end."""
    _record(row, "remove_mcp_server", actor, {"name": row.name})
    if row.by_default:
        _tell_keys(row)
    row.delete()


def list_mcp_tools(row: McpServer, *, actor: str) -> list[str]:
    """Ask the server for its tools and keep them; return their names. Calls get them within a
    second. Blocks for some seconds at most; call it outside transactions. Raises ValidationError
    with what went wrong."""
    try:
        found = asyncio.run(_ask(_question(row)))
    except NotFetched as error:
        # Said whatever the reason: what a name leads to in our network is not told.
        hint = f" {PUBLIC_ONLY}" if error.message == MCP_UNREACHABLE else ""
        raise ValidationError(f"{error.message}{hint}") from None
    except DecryptionFailed as error:
        raise ValidationError(f"The credential cannot be read. {error}") from None
    tools: list[JsonObject] = [
        {"name": tool.name, "description": tool.description, "schema": tool.schema}
        for tool in found[:MAX_TOOLS]
    ]
    names = [tool.name for tool in found[:MAX_TOOLS]]
    with transaction.atomic():
        # Conditional: what was listed at another URL says nothing about this one.
        rows = McpServer.objects.filter(pk=row.pk, url=row.url)
        if rows.update(tools=tools, tools_listed_at=timezone.now()) and tools != row.tools:
            _record(row, "list_mcp_tools", actor, {"tools": names})
    row.refresh_from_db()
    return names


def _question(row: McpServer) -> McpOrder:
    """Return what asks the server for its tools. Raises DecryptionFailed."""
    rules = access_rules_of(row.workspace)
    hosts = HostRules(tuple(rules.allowed_hosts), (*rules.denied_hosts, *settings.OWN_HOSTS))
    return McpOrder(
        url=row.url,
        owner=str(row.workspace_id),
        hosts=hosts,
        headers=headers_of(row),
        limit_s=LIST_S,
    )


async def _ask(question: McpOrder) -> list[McpTool]:
    """Raises NotFetched."""
    process = FetchProcess(read_networks(settings.FETCH_ALLOWED_NETWORKS))
    try:
        return (await process.ask(question)).tools
    finally:
        await process.aclose()


def _put(row: McpServer, fields: JsonObject) -> JsonObject:
    """Set the fields that are given; return those that differ, before and after."""
    details = differences(row, {name: _clean(name, value) for name, value in fields.items()})
    for name, (_, value) in details.items():
        setattr(row, name, value)
    return details


def _clean(name: str, value: JsonValue) -> JsonValue:
    if name == "allowed_tools":
        return list(dict.fromkeys(str(one).strip() for one in value if str(one).strip()))
    if name == "header":
        return value.strip().lower()
    return value.strip() if isinstance(value, str) else value


def _put_credential(row: McpServer, text: str) -> None:
    text = text.strip()
    check_credential(text)
    row.secret = encrypt(text, row.pk)
    row.hint = text[-4:] if len(text) >= LEAST_CHARS_SHOWN else ""


def check_fields(row: McpServer) -> None:
    """Raises ValidationError with the errors of all fields, whatever other servers there are."""
    errors: dict[str, str] = {}
    if not _NAME.fullmatch(row.name):
        errors["name"] = "Use 1 to 30 lower-case letters, digits and hyphens."
    if not _HEADER.fullmatch(row.header) or row.header in _TAKEN:
        errors["header"] = "This header cannot hold a credential. Use authorization or x-api-key."
    if not 0 <= row.price_nusd <= MAX_PRICE_NUSD:
        errors["price_nusd"] = "Enter a price from 0 to 1,000 USD."
    if len(row.allowed_tools) > MAX_TOOLS or any(
        len(name) > 200 or not is_visible(name) for name in row.allowed_tools
    ):
        errors["allowed_tools"] = f"Enter at most {MAX_TOOLS} tool names."
    with raising_all() as gather:
        with gather():
            if errors:
                raise ValidationError(errors)
        with gather():
            _check_url(row.url)


def _check_url(url: str) -> None:
    if len(url) > 400:
        raise ValidationError({"url": "At most 400 characters."})
    check_public_url(url)


def check_credential(text: str) -> None:
    """Raises ValidationError for one that is no value of a header."""
    if len(text) > MAX_SECRET_CHARS or not (text.isascii() and text.isprintable()):
        words = f"Enter at most {MAX_SECRET_CHARS:,} visible ASCII characters."
        raise ValidationError({"credential": words})


def _check(row: McpServer) -> None:
    check_fields(row)
    others = McpServer.objects.filter(workspace=row.workspace_id, name=row.name)
    if others.exclude(pk=row.pk).exists():
        words = "Another MCP server of the workspace has this name."
        raise ValidationError({"name": words})


def _record(row: McpServer, action: str, actor: str, details: JsonObject) -> None:
    record_change(ConfigChange.Kind.TOOLS, row.workspace_id.hex)
    record_audit(
        actor=actor,
        action=f"workspace.{action}",
        target=row.name,
        workspace=row.workspace,
        details=details,
    )


def _tell_keys(row: McpServer) -> None:
    """Have the records of keys read again: they say whether there are servers by default."""
    record_change(ConfigChange.Kind.WORKSPACE, row.workspace_id.hex)
