"""Who sees which workspaces, and how people name one."""

from __future__ import annotations

import uuid

import pytest

from accounts.models import Role
from accounts.selectors import (
    first_workspace_of,
    get_workspace,
    members_of,
    workspaces_of,
)
from accounts.services import add_member
from tests.factories import ACTOR, make_member, make_user, make_workspace

pytestmark = pytest.mark.django_db


def test_a_member_sees_own_workspaces_an_operator_all_and_a_stranger_none() -> None:
    here, there = make_workspace("Here"), make_workspace("There")
    member = make_member(here, Role.VIEWER)

    assert list(workspaces_of(member)) == [here]
    assert list(workspaces_of(make_user(is_operator=True))) == [here, there]
    assert list(workspaces_of(make_user())) == []


def test_an_account_that_was_switched_off_sees_nothing() -> None:
    workspace = make_workspace()
    member, operator = make_member(workspace), make_user(is_operator=True)
    member.is_active = operator.is_active = False

    assert not workspaces_of(member).exists()
    assert not workspaces_of(operator).exists()


def test_a_workspace_made_later_takes_nobodys_place() -> None:
    first = make_workspace("Zephyr")
    member, operator = make_member(first), make_user(is_operator=True)
    later = make_workspace("Acme")
    add_member(later, user=member, role=Role.VIEWER, actor=ACTOR)

    assert [first_workspace_of(who) for who in (member, operator)] == [first, first]
    assert first_workspace_of(make_user()) is None
    add_member(later, user=operator, role=Role.OWNER, actor=ACTOR)
    assert first_workspace_of(operator) == later
    member.is_active = False
    assert first_workspace_of(member) is None


def test_members_are_those_of_the_workspace_alone() -> None:
    here, there = make_workspace("Here"), make_workspace("There")
    ours, theirs = make_member(here), make_member(there)

    assert [membership.user for membership in members_of(here)] == [ours]
    assert [membership.user for membership in members_of(there)] == [theirs]


def test_a_workspace_is_found_by_id_slug_or_name() -> None:
    workspace = make_workspace("Acme Ltd")

    found = [get_workspace(text) for text in (str(workspace.pk), "acme-ltd", "Acme Ltd")]

    assert found == [workspace] * 3


def test_a_slug_wins_over_a_name() -> None:
    by_slug = make_workspace("acme")
    make_workspace("ACME")

    assert get_workspace("acme") == by_slug


def test_a_name_that_several_have_must_be_told_apart() -> None:
    make_workspace("Acme Ltd")
    make_workspace("Acme Ltd")

    with pytest.raises(LookupError, match=r"acme-ltd, acme-ltd-2"):
        get_workspace("Acme Ltd")


@pytest.mark.parametrize("text", ["", "nobody", str(uuid.UUID(int=7)), "\x00"])
def test_an_unknown_workspace_is_an_error_that_says_so(text: str) -> None:
    with pytest.raises(LookupError, match="does not exist"):
        get_workspace(text)
