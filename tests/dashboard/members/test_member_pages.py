"""The pages of members: who sees and may do what, and links that are shown once."""

from __future__ import annotations

import re
from typing import Any

import pytest

from accounts.codes import digest_code
from accounts.invitations import invite
from accounts.models import Invitation, Membership, Role, User, Workspace
from keys.models import ApiKey
from tests.dashboard.visitors import HTMX, path_of, signed_in
from tests.factories import ACTOR, make_key, make_member, make_user, make_workspace

pytestmark = pytest.mark.django_db

LIST, INVITE = "/members", "/members/invite"
LINK = re.compile(r"http://testserver/join#(inv-[\w-]{43})")


@pytest.fixture
def workspace() -> Workspace:
    workspace = make_workspace()
    make_member(workspace, Role.OWNER)
    return workspace


def post_invite(workspace: Workspace, own_role: str, **fields: str) -> Any:
    client = signed_in(make_member(workspace, own_role))
    return client.post(INVITE, {"email": "bo@example.com", "role": "viewer"} | fields)


def url_of(person: User, page: str) -> str:
    return path_of(f"member-{page}", Membership.objects.get(user=person).pk)


@pytest.mark.parametrize("role", Role.values)
def test_everybody_sees_who_is_there_and_only_who_may_can_act(
    workspace: Workspace, role: str
) -> None:
    make_member(make_workspace("Other"), Role.OWNER)
    person = make_member(workspace, role)

    page = signed_in(person).get(LIST).content.decode()

    shown = {email for email in User.objects.values_list("email", flat=True) if email in page}
    assert shown == set(workspace.members.values_list("email", flat=True))
    assert ("Invite member" in page) == (role in (Role.OWNER, Role.ADMIN))
    assert ("Spent, 30 d" in page) == (role != Role.DEVELOPER)
    assert "Leave workspace" in page


def test_the_list_is_narrowed_by_name_and_address(workspace: Workspace) -> None:
    User.objects.filter(pk=make_member(workspace).pk).update(name="Zoë Marsh")
    client = signed_in(make_user(is_operator=True))

    found = client.get(f"{LIST}?q=zo%C3%AB", headers=HTMX).content.decode()
    nothing = client.get(f"{LIST}?q=nothing-like-it%00", headers=HTMX).content.decode()

    assert found.count("member-row-") == 1
    assert "Zoë Marsh" in found
    assert "No matching members" in nothing


def test_a_workspace_without_members_says_what_to_do() -> None:
    make_workspace()

    page = signed_in(make_user(is_operator=True)).get(LIST).content.decode()

    assert "No members yet" in page


@pytest.mark.parametrize("headers", [{}, HTMX], ids=["page", "dialog"])
def test_an_invitation_shows_its_link_this_once(workspace: Workspace, headers: Any) -> None:
    client = signed_in(make_member(workspace))

    answer = client.post(INVITE, {"email": "Bo@example.com", "role": "viewer"}, headers=headers)

    found = LINK.search(answer.content.decode())
    later = client.get(LIST).content.decode()
    assert answer.status_code == 201
    assert found
    assert digest_code(found[1]) == Invitation.objects.get().digest
    assert "bo@example.com" in later
    assert "inv-" not in later


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"email": ""}, "This field is required"),
        ({"email": "bo"}, "Enter a valid email address"),
        ({"role": "emperor"}, "Select a valid choice"),
    ],
)
def test_what_is_wrong_with_an_invitation_is_said(
    workspace: Workspace, fields: dict[str, str], words: str
) -> None:
    answer = post_invite(workspace, Role.ADMIN, **fields)

    assert answer.status_code == 422
    assert words in answer.content.decode()
    assert not Invitation.objects.exists()


def test_inviting_a_member_is_refused_beside_the_field(workspace: Workspace) -> None:
    member = make_member(workspace)

    answer = post_invite(workspace, Role.OWNER, email=member.email)

    assert answer.status_code == 422
    assert f"{member.email} is already a member of Acme." in answer.content.decode()


@pytest.mark.parametrize("role", [Role.DEVELOPER, Role.BILLING, Role.VIEWER])
def test_who_may_not_manage_members_cannot_by_hand_either(workspace: Workspace, role: str) -> None:
    other = make_member(workspace, Role.VIEWER)
    invitation, _ = invite(workspace, email="bo@example.com", role="viewer", actor=ACTOR)
    client = signed_in(make_member(workspace, role))
    withdraw = path_of("invitation-withdraw", invitation.pk)

    statuses = {
        post_invite(workspace, role).status_code,
        client.post(withdraw).status_code,
        client.post(url_of(other, "role"), {"role": "admin"}).status_code,
        client.post(url_of(other, "remove"), {"keys": "revoke"}).status_code,
    }

    assert statuses == {403}
    assert Membership.objects.get(user=other).role == Role.VIEWER
    assert Invitation.objects.count() == 1


def test_an_admin_touches_no_owner(workspace: Workspace) -> None:
    owner = workspace.members.get()
    invitation, _ = invite(workspace, email="bo@example.com", role="owner", actor=ACTOR)
    client = signed_in(make_member(workspace, Role.ADMIN))
    withdraw = path_of("invitation-withdraw", invitation.pk)

    statuses = {
        client.get(url_of(owner, "role")).status_code,
        client.post(url_of(owner, "role"), {"role": "viewer"}).status_code,
        client.get(url_of(owner, "remove")).status_code,
        client.post(url_of(owner, "remove"), {"keys": "revoke"}).status_code,
        client.post(withdraw).status_code,
    }

    assert statuses == {403}
    assert Membership.objects.get(user=owner).role == Role.OWNER


def test_a_role_is_changed(workspace: Workspace) -> None:
    other = make_member(workspace, Role.VIEWER)
    client = signed_in(make_member(workspace, Role.ADMIN))

    page = client.get(url_of(other, "role")).content.decode()
    answer = client.post(url_of(other, "role"), {"role": "billing"}, follow=True)

    assert 'value="owner"' not in page
    assert f"{other.email} is billing now." in answer.content.decode()
    assert Membership.objects.get(user=other).role == Role.BILLING


def test_the_last_owner_cannot_step_down(workspace: Workspace) -> None:
    owner = workspace.members.get()

    answer = signed_in(owner).post(url_of(owner, "role"), {"role": "viewer"})

    assert answer.status_code == 409
    assert "Acme needs an owner" in answer.content.decode()
    assert Membership.objects.get(user=owner).role == Role.OWNER


def test_who_is_removed_sees_nothing_any_more(workspace: Workspace) -> None:
    member = make_member(workspace, Role.DEVELOPER)
    make_key(workspace, created_by=member)
    theirs, admin = signed_in(member), signed_in(make_member(workspace))

    asked = admin.get(url_of(member, "remove"), headers=HTMX).content.decode()
    answer = admin.post(url_of(member, "remove"), {"keys": "revoke"}, follow=True)

    assert "Their key" in asked
    assert "is no longer a member of Acme. 1 key is revoked." in answer.content.decode()
    assert ApiKey.objects.get().revoked_at is not None
    assert theirs.get(LIST).status_code == 403


def test_keys_may_stay_when_somebody_leaves(workspace: Workspace) -> None:
    member = make_member(workspace, Role.DEVELOPER)
    make_key(workspace, created_by=member)

    answer = signed_in(member).post(url_of(member, "remove"), {"keys": "keep"})

    assert (answer.status_code, answer["Location"]) == (302, "/")
    assert ApiKey.objects.get().is_usable
    assert not Membership.objects.filter(user=member).exists()


def test_the_last_owner_cannot_leave(workspace: Workspace) -> None:
    owner = workspace.members.get()

    answer = signed_in(owner).post(url_of(owner, "remove"), {"keys": "revoke"})

    assert answer.status_code == 409
    assert "Acme needs an owner" in answer.content.decode()
    assert Membership.objects.get(user=owner).role == Role.OWNER


@pytest.mark.parametrize("page", ["role", "remove"])
@pytest.mark.parametrize("method", ["get", "post"])
def test_members_of_another_workspace_are_not_there(
    workspace: Workspace, page: str, method: str
) -> None:
    foreign = make_member(make_workspace("Other"), Role.VIEWER)
    client = signed_in(make_member(workspace, Role.OWNER))

    answer = getattr(client, method)(url_of(foreign, page), {"role": "owner", "keys": "revoke"})

    assert answer.status_code == 404
    assert Membership.objects.get(user=foreign).role == Role.VIEWER


def test_an_invitation_is_withdrawn(workspace: Workspace) -> None:
    invitation, _ = invite(workspace, email="bo@example.com", role="viewer", actor=ACTOR)
    client = signed_in(make_member(workspace))
    withdraw = path_of("invitation-withdraw", invitation.pk)

    answer = client.post(withdraw, follow=True)

    assert "Invitation of bo@example.com revoked." in answer.content.decode()
    assert not Invitation.objects.exists()
    assert client.post(withdraw).status_code == 404
