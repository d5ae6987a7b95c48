"""The workspace a person is looking at. Every page of a workspace starts here."""

from __future__ import annotations

from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from accounts.models import User, Workspace
from accounts.permissions import Action, may
from accounts.selectors import first_workspace_of, workspaces_of

SESSION_KEY = "workspace_id"
# What a page says of the workspace that it was drawn for: its forms, and its htmx requests.
SEEN_FIELD = "workspace_seen"
SEEN_HEADER = "X-Workspace-Seen"


class NoWorkspace(PermissionDenied):
    """The person belongs to no workspace yet."""


def current_workspace(request: HttpRequest) -> Workspace:
    """Return the workspace of the page one acts on, else the one chosen in this session, else the
    one that the person has longest been in.

    The choice is checked on every request: a membership that ended ends the view of it. Looking
    never writes to the session; who sends a form has chosen its workspace. Raises NoWorkspace when
    there is none to show, PermissionDenied when the page's is not the person's any more.
    """
    known = getattr(request, "workspace_in_view", None)
    if isinstance(known, Workspace):
        return known
    user = request.user
    if not isinstance(user, User):
        raise NoWorkspace("Sign in first.")
    found = _seen(request, user) or _chosen(request, user) or first_workspace_of(user)
    if found is None:
        raise NoWorkspace("You are not a member of any workspace yet.")
    setattr(request, "workspace_in_view", found)  # noqa: B010 - HttpRequest declares no such field
    return found


def choose_workspace(request: HttpRequest, user: User, workspace_id: UUID) -> Workspace | None:
    """Remember the workspace for this session; None when the person may not open it."""
    found = workspaces_of(user).filter(pk=workspace_id).first()
    if found is not None:
        request.session[SESSION_KEY] = str(found.pk)
    return found


def require(request: HttpRequest, action: Action) -> Workspace:
    """Return the workspace in view. Raises PermissionDenied unless the person may do this."""
    workspace = current_workspace(request)
    user = request.user
    if not isinstance(user, User) or not may(user, action, workspace):
        raise PermissionDenied("Your role in this workspace does not cover this page.")
    return workspace


def require_operator(request: HttpRequest, action: Action) -> None:
    """Raise PermissionDenied unless the person may do this to the installation itself."""
    user = request.user
    if not isinstance(user, User) or not may(user, action):
        raise PermissionDenied("This page is for the operators of this installation.")


def _seen(request: HttpRequest, user: User) -> Workspace | None:
    """Return the workspace the page was drawn for: another tab may have chosen another since."""
    given = request.POST if request.method == "POST" else request.GET
    seen = given.get(SEEN_FIELD) or request.headers.get(SEEN_HEADER, "")
    if not seen:
        return None
    try:
        found = workspaces_of(user).filter(pk=UUID(seen)).first()
    except ValueError:
        found = None
    if found is None:
        raise PermissionDenied("The workspace of this page is not yours to open.")
    if request.method == "POST" and request.session.get(SESSION_KEY) != str(found.pk):
        request.session[SESSION_KEY] = str(found.pk)
    return found


def _chosen(request: HttpRequest, user: User) -> Workspace | None:
    try:
        chosen = UUID(str(request.session.get(SESSION_KEY, "")))
    except ValueError:
        return None
    return workspaces_of(user).filter(pk=chosen).first()
