"""The permission rules, spelled out a second time: every role against every action."""

from __future__ import annotations

import pytest

from accounts.models import Role
from accounts.permissions import Action, may, roles_given_by
from tests.factories import make_member, make_user, make_workspace

pytestmark = pytest.mark.django_db

# One column per role, in the order of ROLES; x is allowed.
ROLES = ["owner", "admin", "developer", "billing", "viewer"]
MATRIX = {
    "view_usage": "xx.xx",
    "view_own_usage": "xxxxx",
    "view_keys": "xxx.x",
    "make_keys": "xxx..",
    "manage_keys": "xx...",
    "import_digests": ".....",
    "view_files": "xxx.x",
    "manage_files": "xxx..",
    "view_credits": "xx.x.",
    "grant_credits": ".....",
    "view_members": "xxxxx",
    "leave_workspace": "xxxxx",
    "manage_members": "xx...",
    "view_audit": "xx...",
    "manage_workspace": "xx...",
    "unlock_workspace": ".....",
    "manage_catalogue": ".....",
    "manage_hosts": ".....",
    "manage_workspaces": ".....",
}


def test_the_matrix_names_every_role_and_every_action() -> None:
    assert set(MATRIX) == {action.value for action in Action}
    assert set(ROLES) == set(Role.values)


@pytest.mark.parametrize("action", Action)
@pytest.mark.parametrize("role", ROLES)
def test_a_member_may_what_the_matrix_says(role: str, action: Action) -> None:
    workspace = make_workspace()
    member = make_member(workspace, role)

    allowed = may(member, action, workspace)

    assert allowed == (MATRIX[action.value][ROLES.index(role)] == "x")


@pytest.mark.parametrize("role", ROLES)
def test_only_owners_and_operators_make_owners(role: str) -> None:
    workspace = make_workspace()
    everything = set(Role.values)
    given = {"owner": everything, "admin": everything - {"owner"}}

    assert roles_given_by(make_member(workspace, role), workspace) == given.get(role, set())
    assert roles_given_by(make_user(is_operator=True), workspace) == everything
    assert roles_given_by(make_user(), workspace) == set()


@pytest.mark.parametrize("action", Action)
def test_nobody_may_anything_elsewhere_and_operators_may_everything(action: Action) -> None:
    here, elsewhere = make_workspace("Here"), make_workspace("Elsewhere")
    owner, operator = make_member(here, Role.OWNER), make_user(is_operator=True)

    assert not may(owner, action, elsewhere)
    assert not may(owner, action, None)
    assert not may(make_user(), action, here)
    assert may(operator, action, elsewhere)
    assert may(operator, action, None)


@pytest.mark.parametrize("action", Action)
def test_an_account_that_was_switched_off_may_nothing(action: Action) -> None:
    workspace = make_workspace()
    owner, operator = make_member(workspace, Role.OWNER), make_user(is_operator=True)
    owner.is_active = operator.is_active = False

    assert not may(owner, action, workspace)
    assert not may(operator, action, None)
