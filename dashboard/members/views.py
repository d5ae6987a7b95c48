"""The members of a workspace: list, invite, change the role, remove."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from accounts.invitations import NewInvitation, withdraw
from accounts.invitations import invite as make_invitation
from accounts.models import Invitation, Membership, Role, Workspace
from accounts.permissions import Action, NotAllowed, roles_given_by
from accounts.selectors import members_of, open_invitations
from accounts.services import LAST_OWNER, change_role
from dashboard.forms.service_errors import show_service_error
from dashboard.http.current_workspace import require
from dashboard.http.htmx import PageRequest, render_page
from dashboard.http.page_urls import page_address
from dashboard.http.query_params import read_text
from dashboard.keys.snippets import base_url
from dashboard.members.forms import KEEP, InviteForm, RemoveForm, RoleForm
from dashboard.members.rows import MemberRow, member_rows
from dashboard.members.table import member_table
from dashboard.ui.tables import Table
from keys.memberships import end_membership
from keys.selectors import keys_left_by


@dataclass(frozen=True)
class MemberListContext:
    """Variables of dashboard/members/list.html; htmx gets the table alone."""

    table: Table[MemberRow]
    invitations: list[Invitation]
    query: str
    given: frozenset[str]


@dataclass(frozen=True)
class InviteContext:
    """Variables of dashboard/members/invite.html and _invite.html."""

    workspace: Workspace
    form: InviteForm


@dataclass(frozen=True)
class InvitedContext:
    """Variables of dashboard/members/invited.html, _invited.html. Holds the code: never stored."""

    invitation: Invitation
    link: str
    back: str


@dataclass(frozen=True)
class RoleContext:
    """Variables of dashboard/members/role.html and _role.html."""

    membership: Membership
    form: RoleForm
    is_you: bool


@dataclass(frozen=True)
class RemoveContext:
    """Variables of dashboard/members/remove.html and _remove.html. keys: how many they made."""

    membership: Membership
    form: RemoveForm
    keys: int
    is_you: bool


@login_required
@require_GET
def list_members(request: PageRequest) -> HttpResponse:
    workspace = require(request, Action.VIEW_MEMBERS)
    query = read_text(request.GET)
    found = member_rows(request.user, workspace, query)
    given = roles_given_by(request.user, workspace)
    return render_page(
        request,
        page="dashboard/members/list.html",
        partial="components/_list.html",
        context=MemberListContext(
            table=member_table(found, query, given=given),
            invitations=list(open_invitations(workspace)) if given else [],
            query=query,
            given=given,
        ),
    )


@sensitive_variables()
@login_required
@require_http_methods(["GET", "POST"])
def invite(request: PageRequest) -> HttpResponse:
    workspace = require(request, Action.MANAGE_MEMBERS)
    given = roles_given_by(request.user, workspace)
    _require_given(request, given)
    form = InviteForm(request.POST or None, given=given, initial={"role": "developer"})
    if request.method == "POST" and form.is_valid():
        try:
            invited = make_invitation(
                workspace, actor=request.user.email, asked_by=request.user, **form.cleaned_data
            )
            return show_invited(request, invited, back=page_address(workspace, "member-list"))
        except ValidationError as error:
            show_service_error(form, error)
    return render_page(
        request,
        page="dashboard/members/invite.html",
        partial="dashboard/members/_invite.html",
        context=InviteContext(workspace=workspace, form=form),
        status=422 if form.errors else 200,
    )


@sensitive_variables()
def show_invited(request: PageRequest, invited: NewInvitation, *, back: str) -> HttpResponse:
    """Answer with the link of a new invitation, this once. back: where to go from there."""
    link = f"{base_url(request)}{reverse('dashboard:join')}#{invited.code}"
    return render_page(
        request,
        page="dashboard/members/invited.html",
        partial="dashboard/members/_invited.html",
        context=InvitedContext(invitation=invited.invitation, link=link, back=back),
        status=201,
    )


@login_required
@require_POST
def withdraw_invitation(request: PageRequest, invitation_id: UUID) -> HttpResponse:
    workspace = require(request, Action.MANAGE_MEMBERS)
    invitation = get_object_or_404(open_invitations(workspace), pk=invitation_id)
    try:
        withdraw(invitation, actor=request.user.email, asked_by=request.user)
    except ValidationError as error:
        raise PermissionDenied(*error.messages) from None
    messages.success(request, f"Invitation of {invitation.email} revoked.")
    return _back(workspace)


@login_required
@require_http_methods(["GET", "POST"])
def choose_role(request: PageRequest, membership_id: int) -> HttpResponse:
    membership = _membership(request, membership_id)
    workspace = require(request, Action.MANAGE_MEMBERS)
    given = roles_given_by(request.user, workspace)
    if membership.role not in given:
        raise PermissionDenied("Only owners can change an owner's role.")
    _require_given(request, given)
    is_you = membership.user_id == request.user.pk
    form = RoleForm(request.POST or None, given=given, initial={"role": membership.role})
    if request.method == "POST" and form.is_valid():
        role = form.cleaned_data["role"]
        try:
            is_new = change_role(
                membership, role=role, actor=request.user.email, asked_by=request.user
            )
        except ValidationError as error:
            show_service_error(form, error)
        else:
            words = (
                f"is {membership.get_role_display().lower()} now" if is_new else "stays as before"
            )
            messages.success(request, f"{membership.user.email} {words}.")
            return _back(workspace)
    return render_page(
        request,
        page="dashboard/members/role.html",
        partial="dashboard/members/_role.html",
        context=RoleContext(membership=membership, form=form, is_you=is_you),
        status=_status(form),
    )


@login_required
@require_http_methods(["GET", "POST"])
def remove(request: PageRequest, membership_id: int) -> HttpResponse:
    """End a membership: somebody else's, for who may give their role, or one's own."""
    membership = _membership(request, membership_id)
    is_you = membership.user_id == request.user.pk
    if not is_you and membership.role not in roles_given_by(request.user, membership.workspace):
        raise PermissionDenied("Your role does not cover this.")
    form = RemoveForm(request.POST or None)
    if request.method == "POST" and form.is_valid() and _end(request, membership, form):
        return HttpResponseRedirect("/") if is_you else _back(membership.workspace)
    return render_page(
        request,
        page="dashboard/members/remove.html",
        partial="dashboard/members/_remove.html",
        context=RemoveContext(
            membership=membership,
            form=form,
            keys=keys_left_by(membership).count(),
            is_you=is_you,
        ),
        status=_status(form),
    )


def _status(form: forms.Form) -> int:
    """Return 409 where the workspace is in the way, 422 where what was filled in is."""
    found = [error.code for errors in form.errors.as_data().values() for error in errors]
    return 409 if LAST_OWNER in found else 422 if found else 200


def _end(request: PageRequest, membership: Membership, form: forms.Form) -> bool:
    person, keeps_keys = membership.user.email, form.cleaned_data["keys"] == KEEP
    try:
        keys = end_membership(
            membership, keeps_keys=keeps_keys, actor=request.user.email, asked_by=request.user
        )
    except ValidationError as error:
        show_service_error(form, error)
        return False
    words = f"{person} is no longer a member of {membership.workspace}."
    if keys:
        noun = "key is" if keys == 1 else "keys are"
        words += f" {keys} {noun} {'transferred to it' if keeps_keys else 'revoked'}."
    messages.success(request, words)
    return True


def _require_given(request: PageRequest, given: frozenset[str]) -> None:
    """Raise PermissionDenied for a role in the form that the page did not offer this person."""
    role = request.POST.get("role", "")
    if role in Role.values and role not in given:
        raise NotAllowed(f"You may not give the role {role} here.")


def _membership(request: PageRequest, membership_id: int) -> Membership:
    workspace = require(request, Action.VIEW_MEMBERS)
    return get_object_or_404(members_of(workspace), pk=membership_id)


def _back(workspace: Workspace) -> HttpResponse:
    return HttpResponseRedirect(page_address(workspace, "member-list"))
