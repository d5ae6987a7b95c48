"""Questions about workspaces and people. Reads only."""

from __future__ import annotations

from uuid import UUID

from django.db.models import QuerySet

from accounts.models import Membership, User, Workspace


def workspaces_of(user: User) -> QuerySet[Workspace]:
    """Return what this person may open: all of them for an operator, by name."""
    if not user.is_active:
        return Workspace.objects.none()
    if user.is_operator:
        return Workspace.objects.all()
    return Workspace.objects.filter(memberships__user=user)


def members_of(workspace: Workspace) -> QuerySet[Membership]:
    """Return the memberships with their people, by e-mail address."""
    return workspace.memberships.select_related("user").order_by("user__email")


def get_workspace(text: str) -> Workspace:
    """Return the workspace with this id, slug or name, in this order.

    Raises LookupError with a sentence for people when there is none, or several of that name.
    """
    try:
        by_id = Workspace.objects.filter(pk=UUID(text)).first()
    except ValueError:
        by_id = None
    found = by_id or Workspace.objects.filter(slug=text).first()
    if found:
        return found
    named = list(Workspace.objects.filter(name=text)[:10])
    if len(named) > 1:
        slugs = ", ".join(workspace.slug for workspace in named)
        raise LookupError(
            f"Several workspaces are called {text!r}: name one by its slug ({slugs})."
        )
    if not named:
        raise LookupError(f"There is no workspace {text[:80]!r}.")
    return named[0]
