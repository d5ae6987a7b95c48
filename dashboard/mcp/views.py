"""MCP servers of a workspace: list, add, change, list their tools, remove."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from accounts.models import Workspace
from accounts.permissions import Action
from dashboard.forms.save import save
from dashboard.forms.version_token import lock_row, save_unchanged
from dashboard.http.current_workspace import require
from dashboard.http.htmx import PageRequest, variables
from dashboard.http.page_urls import page_address
from dashboard.mcp.forms import McpServerForm, server_version
from dashboard.ui.confirm import Question, ask
from gateway.models import McpServer
from gateway.selectors.mcp_servers import servers_of, usable_tools
from gateway.services.mcp_servers import (
    add_mcp_server,
    list_mcp_tools,
    remove_mcp_server,
    update_mcp_server,
)


@dataclass(frozen=True, kw_only=True)
class ServerRow:
    """state: in words. badge: its CSS class; empty for a neutral one."""

    server: McpServer
    tools: int
    state: str
    badge: str


@dataclass(frozen=True, kw_only=True)
class ToolRow:
    name: str
    description: str
    is_allowed: bool


@dataclass(frozen=True, kw_only=True)
class ServerListContext:
    """Variables of dashboard/mcp/list.html."""

    rows: Sequence[ServerRow]


@dataclass(frozen=True, kw_only=True)
class ServerFormContext:
    """Variables of dashboard/mcp/form.html. server: None for a new one."""

    form: McpServerForm
    server: McpServer | None
    tools: Sequence[ToolRow]
    title: str


@login_required
@require_GET
def list_servers(request: PageRequest) -> HttpResponse:
    workspace = require(request, Action.MANAGE_WORKSPACE)
    rows = [server_row(server) for server in servers_of(workspace)]
    return render(request, "dashboard/mcp/list.html", variables(ServerListContext(rows=rows)))


@sensitive_variables()
@login_required
@require_http_methods(["GET", "POST"])
def create_server(request: PageRequest) -> HttpResponse:
    workspace = require(request, Action.MANAGE_WORKSPACE)
    data = request.POST if request.method == "POST" else None
    form = McpServerForm(data, None, sets_price=request.user.is_operator)
    added: list[McpServer] = []

    def write() -> bool:
        added.append(add_mcp_server(workspace, actor=request.user.email, **form.values()))
        return True

    words = "The MCP server is added."
    if form.is_bound and form.is_valid() and save(request, form, write, words=words):
        _list_tools(request, added[0])
        return HttpResponseRedirect(page_address(workspace, "mcp-edit", added[0].pk))
    return _form_page(request, form, None)


@sensitive_variables()
@login_required
@require_http_methods(["GET", "POST"])
def edit_server(request: PageRequest, server_id: UUID) -> HttpResponse:
    workspace, server = _find(request, server_id)
    data = request.POST if request.method == "POST" else None
    form = McpServerForm(data, server, sets_price=request.user.is_operator)
    if not form.is_bound:
        return _form_page(request, form, server)

    def write() -> bool:
        return update_mcp_server(server, actor=request.user.email, **form.values())

    status = save_unchanged(
        form,
        "MCP server",
        lambda: server_version(lock_row(server)),
        lambda: save(request, form, write),
    )
    if status == HTTPStatus.FOUND:
        return HttpResponseRedirect(page_address(workspace, "mcp-edit", server.pk))
    return _form_page(request, form, server, status=status)


@login_required
@require_POST
def test_server(request: PageRequest, server_id: UUID) -> HttpResponse:
    """Ask the server for its tools; calls have them from then on."""
    workspace, server = _find(request, server_id)
    _list_tools(request, server)
    return HttpResponseRedirect(page_address(workspace, "mcp-edit", server.pk))


@login_required
@require_http_methods(["GET", "POST"])
def remove_server(request: PageRequest, server_id: UUID) -> HttpResponse:
    workspace, server = _find(request, server_id)
    if request.method == "GET":
        question = Question(
            title=f"Remove {server.name}?",
            lines=[f"Requests that use mcp:{server.name} are refused within a second."],
            action=page_address(workspace, "mcp-remove", server.pk),
            button="Remove MCP server",
            back=page_address(workspace, "mcp-list"),
        )
        return ask(request, question)
    remove_mcp_server(server, actor=request.user.email)
    messages.success(request, f"{server.name} is removed.")
    return HttpResponseRedirect(page_address(workspace, "mcp-list"))


def server_row(server: McpServer) -> ServerRow:
    if not server.enabled:
        state, badge = "Disabled", ""
    elif server.tools_listed_at is None:
        state, badge = "Tools not listed", "badge-warn"
    else:
        state, badge = "In all calls" if server.by_default else "Enabled", "badge-ok"
    return ServerRow(server=server, tools=len(usable_tools(server)), state=state, badge=badge)


def _find(request: PageRequest, server_id: UUID) -> tuple[Workspace, McpServer]:
    workspace = require(request, Action.MANAGE_WORKSPACE)
    return workspace, get_object_or_404(McpServer, pk=server_id, workspace=workspace)


def _list_tools(request: PageRequest, server: McpServer) -> None:
    try:
        names = list_mcp_tools(server, actor=request.user.email)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        count = f"{len(names)} tool{'' if len(names) == 1 else 's'}"
        messages.success(request, f"{server.name} has {count}.")


def _form_page(
    request: PageRequest, form: McpServerForm, server: McpServer | None, *, status: int = 200
) -> HttpResponse:
    allowed = [] if server is None else usable_tools(server)
    tools = [
        ToolRow(
            name=tool["name"],
            description=tool["description"],
            is_allowed=tool["name"] in allowed,
        )
        for tool in (() if server is None else server.tools)
    ]
    title = "Add MCP server" if server is None else server.name
    context = ServerFormContext(form=form, server=server, tools=tools, title=title)
    if form.errors and status == 200:
        status = 422
    return render(request, "dashboard/mcp/form.html", variables(context), status=status)
