"""Invite members without a mail server: the only module that writes invitations.

An invitation is made with a code. Whoever invites passes it on; whoever was invited signs in, or
becomes somebody who can, and brings it (docs/adr/0030).
"""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.utils import timezone

from accounts.changes import record_audit
from accounts.codes import digest_code, new_code
from accounts.models import Invitation, Membership, User, Workspace
from accounts.services import add_member, create_user, read_role
from accounts.text import read_line

LASTS = timedelta(days=7)
EMAIL_CHARS = 254


class NewInvitation(NamedTuple):
    """An invitation together with the only copy of its code that will ever exist."""

    invitation: Invitation
    code: str

    def __repr__(self) -> str:
        return f"NewInvitation({self.invitation})"


class NotOpen(ValidationError):
    """The invitation was accepted, withdrawn, replaced by another, or its time is over."""

    def __init__(self) -> None:
        super().__init__("This invitation is no longer valid. Ask for a new one.")


@transaction.atomic
def invite(
    workspace: Workspace, *, email: str, role: str, actor: str, asked_by: User | None = None
) -> NewInvitation:
    """Invite somebody for seven days. An open invitation to the same address ends.

    asked_by: as in accounts.services.add_member.
    Raises ValidationError for what is no address, for a role that cannot be given, and when the
    person is a member already.
    """
    email = _read_email(email)
    role = read_role(role, asked_by, workspace)
    if Membership.objects.filter(workspace=workspace, user__email=email).exists():
        raise ValidationError({"email": f"{email} is already a member of {workspace}."})
    Invitation.objects.filter(workspace=workspace, email=email).delete()
    code = new_code()
    invitation = Invitation.objects.create(
        workspace=workspace,
        email=email,
        role=role,
        digest=digest_code(code),
        invited_by=actor[:254],
        expires_at=timezone.now() + LASTS,
    )
    _record(invitation, actor=actor, action="invitation.create")
    return NewInvitation(invitation, code)


@transaction.atomic
def withdraw(invitation: Invitation, *, actor: str, asked_by: User | None = None) -> bool:
    """End an invitation. Returns False when it was not open any more.

    asked_by: as in accounts.services.change_role. Raises ValidationError for a role that is not
    theirs to give.
    """
    read_role(invitation.role, asked_by, invitation.workspace)
    if not _take(invitation):
        return False
    _record(invitation, actor=actor, action="invitation.withdraw")
    return True


@transaction.atomic
def accept(invitation: Invitation, *, user: User) -> Membership:
    """Make the person a member as they were invited to be, which ends the invitation.

    Raises NotOpen, and ValidationError when somebody else was invited or they are one already.
    """
    if user.email != invitation.email:
        raise ValidationError(f"This invitation is for {invitation.email}, not {user.email}.")
    if invitation.expires_at <= timezone.now() or not _take(invitation):
        raise NotOpen
    return add_member(invitation.workspace, user=user, role=invitation.role, actor=user.email)


@transaction.atomic
def accept_as_new_person(invitation: Invitation, *, name: str, password: str) -> User:
    """Make an account for the invited address, and its person a member.

    Raises as accept does, and ValidationError when the address has an account or the password
    is too weak.
    """
    email = invitation.email
    user = create_user(email=email, name=name, password=password, actor=email)
    accept(invitation, user=user)
    return user


def _take(invitation: Invitation) -> bool:
    """True for the one who ends it."""
    _, deleted = Invitation.objects.filter(pk=invitation.pk).delete()
    return bool(deleted)


def _read_email(email: str) -> str:
    email = read_line(email, field="email", max_chars=EMAIL_CHARS).lower()
    try:
        validate_email(email)
    except ValidationError as error:
        raise ValidationError({"email": error.messages}) from None
    return email


def _record(invitation: Invitation, *, actor: str, action: str) -> None:
    record_audit(
        actor=actor,
        action=action,
        target=invitation.email,
        workspace=invitation.workspace,
        details={"role": invitation.role},
    )
