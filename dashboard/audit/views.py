"""The audit log: who changed what, in a workspace or in the installation itself."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_GET

from accounts.audit_selectors import events_of
from accounts.models import Workspace
from accounts.permissions import Action, may
from dashboard.audit.rows import AuditLine, audit_lines
from dashboard.audit.table import audit_table
from dashboard.http.current_workspace import require, require_operator
from dashboard.http.htmx import PageRequest, render_page
from dashboard.http.query_params import read_number_place, read_text
from dashboard.ui.tables import Table


@dataclass(frozen=True, kw_only=True)
class AuditContext:
    """Variables of dashboard/audit/list.html and _table.html."""

    table: Table[AuditLine]
    query: str
    is_installations: bool
    older_url: str
    searched_to: datetime | None
    may_see_installation: bool


@login_required
@require_GET
def list_events(request: PageRequest) -> HttpResponse:
    if request.GET.get("of") == "installation":  # as its address was once
        return HttpResponseRedirect(reverse("dashboard:audit-installation"))
    return _page(request, require(request, Action.VIEW_AUDIT))


@login_required
@require_GET
def list_installation_events(request: PageRequest) -> HttpResponse:
    require_operator(request, Action.MANAGE_CATALOGUE)
    return _page(request, None)


def _page(request: PageRequest, workspace: Workspace | None) -> HttpResponse:
    """workspace: None for the installation's."""
    query = read_text(request.GET)
    before = read_number_place(request.GET, "before")
    page = events_of(workspace, query=query, before=before)
    asked = urlencode({"q": query, "before": page.older or ""})
    older_url = f"{request.path}?{asked}" if page.older else ""
    return render_page(
        request,
        page="dashboard/audit/list.html",
        partial="dashboard/audit/_table.html",
        context=AuditContext(
            table=audit_table(
                audit_lines(page.events, workspace),
                is_narrowed=bool(query),
                is_first=before is None,
                is_cut=page.searched_to is not None,
                older_url=older_url,
            ),
            query=query,
            is_installations=workspace is None,
            older_url=older_url,
            searched_to=page.searched_to,
            may_see_installation=may(request.user, Action.MANAGE_CATALOGUE),
        ),
    )
