"""The workspace a person is looking at. Every page of a workspace starts here."""

from __future__ import annotations

from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from accounts.models import User, Workspace
from accounts.permissions import Action, may
from accounts.selectors import workspaces_of

SESSION_KEY = "workspace_id"


class NoWorkspace(PermissionDenied):
    """The person belongs to no workspace yet."""


def current_workspace(request: HttpRequest) -> Workspace:
    """Return the workspace chosen in this session, or the first that the person may open.

    The choice is checked on every request: a membership that ended ends the view of it. Never
    writes to the session. Raises NoWorkspace when there is none to show.
    """
    known = getattr(request, "workspace_in_view", None)
    if isinstance(known, Workspace):
        return known
    user = request.user
    if not isinstance(user, User):
        raise NoWorkspace("Sign in first.")
    found = _chosen(request, user) or workspaces_of(user).first()
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


def _chosen(request: HttpRequest, user: User) -> Workspace | None:
    try:
        chosen = UUID(str(request.session.get(SESSION_KEY, "")))
    except ValueError:
        return None
    return workspaces_of(user).filter(pk=chosen).first()
