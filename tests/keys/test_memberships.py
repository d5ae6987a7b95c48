"""Members who leave, and their keys."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone

from accounts.models import ConfigChange, Membership, Role, User, Workspace
from keys.memberships import end_membership
from keys.models import ApiKey
from tests.factories import ACTOR, make_key, make_member, make_workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspace() -> Workspace:
    workspace = make_workspace()
    make_member(workspace, Role.OWNER)
    return workspace


def membership_of(person: User) -> Membership:
    return Membership.objects.get(user=person)


def test_the_keys_of_who_leaves_are_revoked_and_processes_hear_of_it(workspace: Workspace) -> None:
    member = make_member(workspace, Role.DEVELOPER)
    own, other = make_key(workspace, created_by=member).key, make_key(workspace).key
    expired = make_key(workspace, created_by=member).key
    ApiKey.objects.filter(pk=expired.pk).update(expires_at=timezone.now() - timedelta(days=1))
    ConfigChange.objects.all().delete()

    keys = end_membership(membership_of(member), keeps_keys=False, actor=ACTOR)

    revoked = ApiKey.objects.exclude(revoked_at=None)
    assert keys == 2
    assert set(revoked) == {own, expired}
    assert other.is_usable
    refs = set(ConfigChange.objects.values_list("ref", flat=True))
    assert refs == {own.digest, expired.digest, workspace.pk.hex}
    assert not Membership.objects.filter(user=member).exists()


def test_keys_that_stay_are_nobodys(workspace: Workspace) -> None:
    member = make_member(workspace, Role.DEVELOPER)
    key = make_key(workspace, created_by=member).key

    keys = end_membership(membership_of(member), keeps_keys=True, actor=ACTOR)

    key.refresh_from_db()
    assert (keys, key.is_usable, key.created_by) == (1, True, None)


def test_keys_in_another_workspace_stay_theirs(workspace: Workspace) -> None:
    member = make_member(workspace, Role.DEVELOPER)
    elsewhere = make_key(make_workspace("Other"), created_by=None).key
    ApiKey.objects.filter(pk=elsewhere.pk).update(created_by=member)

    end_membership(membership_of(member), keeps_keys=False, actor=ACTOR)

    elsewhere.refresh_from_db()
    assert (elsewhere.is_usable, elsewhere.created_by) == (True, member)


def test_the_last_owner_stays_and_so_do_their_keys() -> None:
    workspace = make_workspace()
    owner = make_member(workspace, Role.OWNER)
    key = make_key(workspace, created_by=owner).key

    with pytest.raises(ValidationError, match="needs an owner"):
        end_membership(membership_of(owner), keeps_keys=False, actor=ACTOR, asked_by=owner)

    key.refresh_from_db()
    assert key.is_usable
    assert membership_of(owner).role == Role.OWNER


@pytest.mark.parametrize(
    ("own", "theirs", "is_allowed"),
    [
        (Role.OWNER, Role.OWNER, True),
        (Role.ADMIN, Role.ADMIN, True),
        (Role.ADMIN, Role.OWNER, False),
        (Role.DEVELOPER, Role.VIEWER, False),
    ],
)
def test_nobody_removes_whom_they_could_not_have_made(
    workspace: Workspace, own: str, theirs: str, is_allowed: bool
) -> None:
    person, other = make_member(workspace, own), make_member(workspace, theirs)

    with nullcontext() if is_allowed else pytest.raises(ValidationError, match="cannot assign"):
        end_membership(membership_of(other), keeps_keys=False, actor=person.email, asked_by=person)

    assert Membership.objects.filter(user=other).exists() != is_allowed


def test_everybody_may_leave_by_themselves(workspace: Workspace) -> None:
    viewer = make_member(workspace, Role.VIEWER)

    end_membership(membership_of(viewer), keeps_keys=False, actor=viewer.email, asked_by=viewer)

    assert not Membership.objects.filter(user=viewer).exists()


def test_who_is_gone_already_cannot_be_removed_again(workspace: Workspace) -> None:
    gone = membership_of(make_member(workspace, Role.VIEWER))
    end_membership(Membership.objects.get(pk=gone.pk), keeps_keys=False, actor=ACTOR)

    with pytest.raises(ValidationError, match="no longer a member"):
        end_membership(gone, keeps_keys=False, actor=ACTOR)
