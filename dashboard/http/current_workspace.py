"""The workspace a person is looking at. It is part of the page's address: /w/<its slug>/keys.

Pages of the installation, of one's account, and the addresses without a workspace have the one that
the person looked at last.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponseBase

from accounts.models import User, Workspace
from accounts.permissions import RULES, Action, NotAllowed, may
from accounts.selectors import first_workspace_of, workspaces_of

# The slug of the workspace looked at last. Not in the session: looking writes to no table.
COOKIE = "tollhouse_workspace"
COOKIE_AGE_S = 365 * 24 * 60 * 60

View = Callable[..., HttpResponseBase]
_OPERATORS_ONLY = "Only operators of this installation can open this page."


class NoWorkspace(PermissionDenied):
    """The person belongs to no workspace yet."""


def in_workspace(view: View) -> View:
    """Return the view for an address that names a workspace: 404 unless it is the person's."""

    @login_required
    @wraps(view)
    def found(request: HttpRequest, workspace_slug: str, **kwargs: object) -> HttpResponseBase:
        workspace = workspaces_of(_person(request)).filter(slug=workspace_slug).first()
        if workspace is None:
            raise Http404("There is no such workspace.")
        _put_in_view(request, workspace)
        setattr(request, "is_of_workspace", True)  # noqa: B010 - HttpRequest declares no such field
        response = view(request, **kwargs)
        if request.COOKIES.get(COOKIE) != workspace.slug:
            response.set_cookie(
                COOKIE, workspace.slug, max_age=COOKIE_AGE_S, samesite="Lax", httponly=True
            )
        return response

    return found


def is_of_workspace(request: HttpRequest) -> bool:
    """True when the address names the workspace, and the person may open it."""
    return getattr(request, "is_of_workspace", False)


def current_workspace(request: HttpRequest) -> Workspace:
    """Return the workspace that the address names; where it names none, the one looked at last,
    else the one that the person has longest been in.

    Raises NoWorkspace when there is none to show.
    """
    known = getattr(request, "workspace_in_view", None)
    if isinstance(known, Workspace):
        return known
    person = _person(request)
    last = workspaces_of(person).filter(slug=request.COOKIES.get(COOKIE, "")).first()
    found = last or first_workspace_of(person)
    if found is None:
        raise NoWorkspace("You are not a member of any workspace yet.")
    _put_in_view(request, found)
    return found


def require(request: HttpRequest, action: Action) -> Workspace:
    """Return the workspace in view. Raises PermissionDenied unless the person may do this."""
    workspace = current_workspace(request)
    if not may(_person(request), action, workspace):
        if not RULES[action]:
            raise NotAllowed(_OPERATORS_ONLY)
        raise PermissionDenied("Your role in this workspace does not allow this page.")
    return workspace


def require_operator(request: HttpRequest, action: Action) -> None:
    """Raise PermissionDenied unless the person may do this to the installation itself."""
    user = request.user
    if not isinstance(user, User) or not may(user, action):
        raise NotAllowed(_OPERATORS_ONLY)


def _person(request: HttpRequest) -> User:
    user = getattr(request, "user", None)
    if not isinstance(user, User):
        raise NoWorkspace("Sign in first.")
    return user


def _put_in_view(request: HttpRequest, workspace: Workspace) -> None:
    setattr(request, "workspace_in_view", workspace)  # noqa: B010 - HttpRequest declares no such field
