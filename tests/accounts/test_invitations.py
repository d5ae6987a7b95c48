"""Invitations: who may make them, for whom, and that each lets one person in once."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone

from accounts.codes import digest_code
from accounts.invitations import (
    LASTS,
    NewInvitation,
    NotOpen,
    accept,
    accept_as_new_person,
    invite,
    withdraw,
)
from accounts.models import AuditEvent, Invitation, Membership, Role, User, Workspace
from accounts.selectors import find_invitation, get_open_invitation, open_invitations
from tests.factories import ACTOR, PASSWORD, make_member, make_user, make_workspace

pytestmark = pytest.mark.django_db

EMAIL = "bo@example.com"


@pytest.fixture
def workspace() -> Workspace:
    return make_workspace()


def invited(workspace: Workspace, email: str = EMAIL, role: str = Role.DEVELOPER) -> NewInvitation:
    return invite(workspace, email=email, role=role, actor=ACTOR)


def late(invitation: Invitation) -> Invitation:
    Invitation.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    invitation.refresh_from_db()
    return invitation


def test_an_invitation_keeps_the_code_as_a_digest_for_a_week(workspace: Workspace) -> None:
    before = timezone.now()

    made = invited(workspace, "  Bo@Example.com ")

    kept = Invitation.objects.get()
    assert (kept.email, kept.role, kept.invited_by) == (EMAIL, Role.DEVELOPER, ACTOR)
    assert kept.digest == digest_code(made.code)
    assert before + LASTS <= kept.expires_at <= timezone.now() + LASTS
    assert made.code not in repr(made)
    assert [event.target for event in AuditEvent.objects.filter(action="invitation.create")] == [
        EMAIL
    ]


def test_codes_are_long_and_never_the_same(workspace: Workspace) -> None:
    codes = {invited(workspace, f"person{n}@example.com").code for n in range(5)}

    assert len(codes) == 5
    assert all(len(code) >= 47 for code in codes)


@pytest.mark.parametrize("email", ["", "bo", "bo@", "@example.com", "b o@example.com", "a\n@b.com"])
def test_what_is_no_address_is_not_invited(workspace: Workspace, email: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        invited(workspace, email)

    assert set(refusal.value.message_dict) == {"email"}


def test_a_role_that_there_is_not_is_refused(workspace: Workspace) -> None:
    with pytest.raises(ValidationError) as refusal:
        invited(workspace, role="emperor")

    assert set(refusal.value.message_dict) == {"role"}


def test_who_is_a_member_already_is_not_invited(workspace: Workspace) -> None:
    member = make_member(workspace)

    with pytest.raises(ValidationError, match="is already a member of Acme"):
        invited(workspace, member.email.upper())


def test_inviting_again_ends_the_link_before(workspace: Workspace) -> None:
    first = invited(workspace)

    second = invited(workspace, role=Role.ADMIN)

    assert find_invitation(first.code) is None
    assert find_invitation(second.code) == second.invitation
    assert [each.role for each in open_invitations(workspace)] == [Role.ADMIN]


@pytest.mark.parametrize(
    ("own", "role", "is_allowed"),
    [
        (Role.OWNER, Role.OWNER, True),
        (Role.ADMIN, Role.ADMIN, True),
        (Role.ADMIN, Role.OWNER, False),
        (Role.DEVELOPER, Role.VIEWER, False),
        (Role.BILLING, Role.VIEWER, False),
        (Role.VIEWER, Role.VIEWER, False),
    ],
)
def test_nobody_invites_to_more_than_they_may_give(
    workspace: Workspace, own: str, role: str, is_allowed: bool
) -> None:
    person = make_member(workspace, own)

    with nullcontext() if is_allowed else pytest.raises(ValidationError, match="cannot assign"):
        invite(workspace, email=EMAIL, role=role, actor=person.email, asked_by=person)

    assert Invitation.objects.exists() == is_allowed


def test_a_new_person_joins_with_a_password_of_their_own(workspace: Workspace) -> None:
    made = invited(workspace)

    person = accept_as_new_person(made.invitation, name=" Bo ", password=PASSWORD)

    assert (person.email, person.name, person.is_operator) == (EMAIL, "Bo", False)
    assert person.check_password(PASSWORD)
    assert Membership.objects.get(user=person).role == Role.DEVELOPER
    assert not Invitation.objects.exists()


def test_a_weak_password_makes_nobody_and_leaves_the_invitation_open(workspace: Workspace) -> None:
    made = invited(workspace)

    with pytest.raises(ValidationError) as refusal:
        accept_as_new_person(made.invitation, name="Bo", password="short")

    assert set(refusal.value.message_dict) == {"password"}
    assert not User.objects.exists()
    assert find_invitation(made.code) == made.invitation


def test_who_has_an_account_joins_with_it(workspace: Workspace) -> None:
    person = make_user(EMAIL)

    membership = accept(invited(workspace).invitation, user=person)

    assert (membership.workspace, membership.role) == (workspace, Role.DEVELOPER)


def test_somebody_else_cannot_use_an_invitation(workspace: Workspace) -> None:
    made = invited(workspace)

    with pytest.raises(ValidationError, match="This invitation is for"):
        accept(made.invitation, user=make_user("mallory@example.com"))

    assert not Membership.objects.exists()
    assert find_invitation(made.code) == made.invitation


def test_an_invitation_works_once(workspace: Workspace) -> None:
    person = make_user(EMAIL)
    made = invited(workspace)
    accept(made.invitation, user=person)
    Membership.objects.all().delete()

    with pytest.raises(NotOpen):
        accept(made.invitation, user=person)

    assert not Membership.objects.exists()


def test_an_invitation_ends_after_its_week(workspace: Workspace) -> None:
    made = invited(workspace)
    person = make_user(EMAIL)

    with pytest.raises(NotOpen):
        accept(late(made.invitation), user=person)

    assert find_invitation(made.code) is None
    assert get_open_invitation(made.invitation.pk) is None
    assert list(open_invitations(workspace)) == []


def test_a_withdrawn_invitation_lets_nobody_in(workspace: Workspace) -> None:
    made = invited(workspace)

    assert withdraw(made.invitation, actor=ACTOR)

    with pytest.raises(NotOpen):
        accept(made.invitation, user=make_user(EMAIL))


def test_withdrawing_twice_is_said_once(workspace: Workspace) -> None:
    invitation = invited(workspace).invitation
    copy = Invitation.objects.get(pk=invitation.pk)
    withdraw(invitation, actor=ACTOR)

    assert not withdraw(copy, actor=ACTOR)

    assert AuditEvent.objects.filter(action="invitation.withdraw").count() == 1


def test_an_admin_cannot_withdraw_the_invitation_of_an_owner(workspace: Workspace) -> None:
    admin = make_member(workspace, Role.ADMIN)
    invitation = invited(workspace, role=Role.OWNER).invitation

    with pytest.raises(ValidationError):
        withdraw(invitation, actor=admin.email, asked_by=admin)

    assert Invitation.objects.exists()


@pytest.mark.parametrize("text", ["", "inv-nothing", "\ud800", None, 7])
def test_what_is_no_code_or_id_finds_nothing(workspace: Workspace, text: object) -> None:
    invited(workspace)

    assert find_invitation(str(text)) is None
    assert get_open_invitation(text) is None
