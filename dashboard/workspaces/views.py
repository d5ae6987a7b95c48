"""The workspaces of the installation, for its operators: find one, open it, make another."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpResponse, HttpResponseRedirect
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_GET, require_http_methods

from accounts.invitations import NewInvitation, invite
from accounts.ledger_selectors import find_balance
from accounts.models import Role, User, Workspace
from accounts.permissions import Action
from accounts.services import create_workspace
from dashboard.forms.service_errors import show_service_error
from dashboard.forms.submit_once import TokenSpent, new_form_token, spend_form_token
from dashboard.http.current_workspace import require_operator
from dashboard.http.htmx import PageRequest, render_page
from dashboard.http.page_urls import page_address
from dashboard.http.query_params import read_id_place, read_text
from dashboard.members.views import show_invited
from dashboard.ui.tables import Table
from dashboard.workspaces.forms import WorkspaceForm
from dashboard.workspaces.rows import WorkspaceRow, workspace_rows
from dashboard.workspaces.table import workspace_table
from gateway.selectors.journal_faults import count_journal_faults


@dataclass(frozen=True)
class WorkspaceListContext:
    """Variables of dashboard/workspaces/list.html; htmx gets the table alone."""

    table: Table[WorkspaceRow]
    query: str
    journal_faults: int


@dataclass(frozen=True)
class NewWorkspaceContext:
    """Variables of dashboard/workspaces/new.html and _new.html."""

    form: WorkspaceForm
    token: str


@login_required
@require_GET
def list_workspaces(request: PageRequest) -> HttpResponse:
    require_operator(request, Action.MANAGE_WORKSPACES)
    query = read_text(request.GET)
    before = read_id_place(request.GET, "before")
    rows, older = workspace_rows(query, before=before)
    asked = urlencode({"q": query, "before": str(older)})
    older_url = f"{request.path}?{asked}" if older else ""
    return render_page(
        request,
        page="dashboard/workspaces/list.html",
        partial="components/_list.html",
        context=WorkspaceListContext(
            table=workspace_table(rows, older_url=older_url, is_first=before is None),
            query=query,
            journal_faults=count_journal_faults(days=30),
        ),
    )


@sensitive_variables()
@login_required
@require_http_methods(["GET", "POST"])
def create(request: PageRequest) -> HttpResponse:
    """Make a workspace, and its owner a member or, without an account, invited."""
    require_operator(request, Action.MANAGE_WORKSPACES)
    form = WorkspaceForm(request.POST or None)
    status = 200
    if request.method == "POST":
        try:
            made = _create(request, form) if form.is_valid() else None
        except TokenSpent as spent:
            form.add_error(None, str(spent))
            made, status = None, 409
        if made is not None:
            return _made(request, *made)
        status = status if status == 409 else 422
    return render_page(
        request,
        page="dashboard/workspaces/new.html",
        partial="dashboard/workspaces/_new.html",
        context=NewWorkspaceContext(form=form, token=new_form_token()),
        status=status,
    )


def _create(
    request: PageRequest, form: WorkspaceForm
) -> tuple[Workspace, NewInvitation | None] | None:
    """Return what was made, or None with the reasons in the form. Raises TokenSpent."""
    data, actor = form.cleaned_data, request.user.email
    email = data["owner"].lower()
    owner = User.objects.filter(email=email).first() if email else None
    try:
        spend_form_token(request.POST.get("token", ""), done="The workspace is in the list.")
        with transaction.atomic():
            workspace = create_workspace(
                name=data["name"], credit_nusd=data["credit"] or 0, owner=owner, actor=actor
            )
            invited = None
            if email and owner is None:
                invited = invite(
                    workspace, email=email, role=Role.OWNER, actor=actor, asked_by=request.user
                )
    except ValidationError as error:
        show_service_error(form, error, {"email": "owner"})
        return None
    return workspace, invited


def _made(
    request: PageRequest, workspace: Workspace, invited: NewInvitation | None
) -> HttpResponse:
    overview = page_address(workspace, "overview")
    if invited is not None:
        return show_invited(request, invited, back=overview)
    words = f"{workspace.name} is ready."
    if not find_balance(workspace.pk).posted_nusd:
        words += " It has no credit yet: grant some on the page Credits."
    messages.success(request, words)
    if request.htmx:
        return HttpResponse(status=204, headers={"HX-Redirect": overview})
    return HttpResponseRedirect(overview)
