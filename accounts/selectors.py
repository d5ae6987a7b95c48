"""Questions about workspaces and people. Reads only."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from django.db.models import Count, QuerySet
from django.utils import timezone

from accounts.codes import digest_code
from accounts.models import Invitation, Membership, User, Workspace


def workspaces_of(user: User) -> QuerySet[Workspace]:
    """Return what this person may open: all of them for an operator, by name."""
    if not user.is_active:
        return Workspace.objects.none()
    if user.is_operator:
        return Workspace.objects.all()
    return Workspace.objects.filter(memberships__user=user)


def first_workspace_of(user: User) -> Workspace | None:
    """Return the one they have longest been a member of, or the oldest that they may open.

    Not the first by name: another one, made later, would take its place unasked.
    """
    memberships = Membership.objects.filter(user=user).select_related("workspace")
    longest = memberships.order_by("id").first() if user.is_active else None
    return longest.workspace if longest else workspaces_of(user).order_by("id").first()


def members_of(workspace: Workspace) -> QuerySet[Membership]:
    """Return the memberships with their people, by e-mail address."""
    return workspace.memberships.select_related("user").order_by("user__email")


def count_members(workspace_ids: Collection[UUID]) -> dict[UUID, int]:
    """Return how many members each of these workspaces has; those without are left out."""
    members = Membership.objects.filter(workspace_id__in=workspace_ids).order_by()
    return dict(members.values_list("workspace_id").annotate(Count("pk")))


def get_workspace(text: str) -> Workspace:
    """Return the workspace with this id, slug or name, in this order.

    Raises LookupError with a sentence for people when there is none, or several of that name.
    """
    text = text.replace("\x00", "")  # which PostgreSQL takes in no text
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
        raise LookupError(f"Several workspaces are named {text!r}. Use a slug: {slugs}.")
    if not named:
        raise LookupError(f"The workspace {text[:80]!r} does not exist.")
    return named[0]


def get_member(workspace: Workspace, email: str) -> Membership:
    """Return the membership of who has this address. Raises LookupError with a sentence."""
    member = members_of(workspace).filter(user__email=email.strip().lower()).first()
    if member is None:
        raise LookupError(f"{email[:254]} is not a member of {workspace}.")
    return member


def open_invitations(workspace: Workspace) -> QuerySet[Invitation]:
    """Return the invitations that may still be accepted, by e-mail address."""
    return _open().filter(workspace=workspace).order_by("email")


def find_invitation(code: str) -> Invitation | None:
    """Return the open invitation with this code."""
    return _open().filter(digest=digest_code(code)).first()


def get_open_invitation(invitation_id: object) -> Invitation | None:
    """Return the invitation with this id, None when it is not open or no id at all."""
    try:
        return _open().filter(pk=UUID(str(invitation_id))).first()
    except ValueError:
        return None


def has_account(email: str) -> bool:
    """True when somebody can sign in, or could once they are active, with this address."""
    return User.objects.filter(email=email.lower()).exists()


def _open() -> QuerySet[Invitation]:
    return Invitation.objects.filter(expires_at__gt=timezone.now()).select_related("workspace")
