"""The commands about members: what they answer, change and refuse."""

from __future__ import annotations

import re

import pytest

from accounts.codes import digest_code
from accounts.models import Invitation, Membership, Role, Workspace
from keys.models import ApiKey
from tests.factories import make_key, make_member, make_workspace
from tests.gateway.test_commands import ask, refusal_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspace() -> Workspace:
    return make_workspace()


def test_an_invitation_answers_with_the_link_to_pass_on(workspace: Workspace) -> None:
    answer = ask("invite_member", "acme", "Bo@example.com", "--role", "billing")

    invitation = Invitation.objects.get()
    link = re.fullmatch(r"http://127\.0\.0\.1:\d+/join#(inv-[\w-]{43})", answer.pop("link"))
    assert link
    assert digest_code(link[1]) == invitation.digest
    assert answer == {
        "workspace_id": str(workspace.pk),
        "email": "bo@example.com",
        "role": "billing",
        "expires_at": invitation.expires_at.isoformat(),
    }


def test_who_cannot_be_invited_is_said(workspace: Workspace) -> None:
    member = make_member(workspace)

    assert "is already a member of Acme" in refusal_of("invite_member", "acme", member.email)
    assert "email: " in refusal_of("invite_member", "acme", "nobody")
    assert "does not exist" in refusal_of("invite_member", "other", "bo@example.com")


def test_a_role_is_changed_once(workspace: Workspace) -> None:
    member = make_member(workspace, Role.VIEWER)

    first = ask("set_role", "acme", member.email.upper(), "owner")
    again = ask("set_role", "acme", member.email, "owner")

    assert (first["changed"], again["changed"]) == (True, False)
    assert Membership.objects.get().role == Role.OWNER
    assert "needs an owner" in refusal_of("set_role", "acme", member.email, "viewer")
    assert "is not a member of Acme" in refusal_of("set_role", "acme", "bo@example.com", "viewer")


@pytest.mark.parametrize(
    ("flags", "counts", "is_usable"), [((), (1, 0), False), (("--keep-keys",), (0, 1), True)]
)
def test_a_member_is_removed_with_their_keys(
    workspace: Workspace, flags: tuple[str, ...], counts: tuple[int, int], is_usable: bool
) -> None:
    member = make_member(workspace, Role.DEVELOPER)
    make_key(workspace, created_by=member)

    answer = ask("remove_member", "acme", member.email, *flags)

    assert (answer["keys_revoked"], answer["keys_kept"]) == counts
    assert ApiKey.objects.get().is_usable == is_usable
    assert not Membership.objects.exists()
    assert "is not a member of Acme" in refusal_of("remove_member", "acme", member.email)


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (("create_workspace", "New", "--credit=-5"), "--credit"),
        (("issue_key", "acme", "New", "--scope", "no.such"), "--scope"),
        (("issue_key", "acme", "New", "--expires", "2001-01-01"), "--expires"),
        (("issue_key", "acme", "New", "--deny-ip", "here"), "--deny-ip"),
        (("issue_key", "acme", "New", "--prefix", "zz-"), "--prefix"),
        (("set_access_rules", "acme", "--country", "Atlantis"), "--country"),
        (("set_budget", "acme", "--timezone", "Atlantis/City"), "--timezone"),
    ],
)
def test_errors_name_the_option_that_is_wrong(
    workspace: Workspace, arguments: tuple[str, ...], option: str
) -> None:
    assert refusal_of(*arguments).startswith(f"{option}: ")
