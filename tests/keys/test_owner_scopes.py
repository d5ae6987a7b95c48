"""Which scopes of a member's key are in effect, and what its page says."""

from __future__ import annotations

import pytest

from accounts.models import Role, User
from accounts.services import change_role
from keys.models import Scope
from keys.selectors import grantable_scopes, scopes_of_role, scopes_without_effect
from keys.services import update_key
from tests.dashboard.visitors import path_of, signed_in
from tests.factories import ACTOR, make_key, make_member, make_user, make_workspace

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("role", [*Role.values, ""])
def test_a_role_gives_on_the_hot_path_what_it_gives_on_pages(role: str) -> None:
    workspace = make_workspace()
    person = make_member(workspace, role) if role else make_user()

    assert scopes_of_role(role) == grantable_scopes(person, workspace)


def test_operators_give_every_scope() -> None:
    assert scopes_of_role("", is_operator=True) == frozenset(Scope.values)


def test_the_page_names_scopes_without_effect_until_an_admin_saves_the_key() -> None:
    workspace = make_workspace()
    admin, boss = make_member(workspace), make_member(workspace)
    key = make_key(workspace, created_by=admin, scopes=["completions", "usage.workspace"]).key
    demote(admin, "developer")
    page = path_of("key-edit", key.pk)

    before = signed_in(boss).get(page).content.decode()
    changed = update_key(
        key,
        label=key.label,
        scopes=key.scopes,
        allowed_models=[],
        denied_models=[],
        allowed_ips=None,
        denied_ips=[],
        expires_at=None,
        changed_by=boss,
        actor=ACTOR,
    )
    after = signed_in(boss).get(page).content.decode()

    assert changed
    assert "does not allow these scopes: usage.workspace" in before
    assert "does not allow these scopes" not in after
    assert scopes_without_effect(key) == []


def demote(person: User, role: str) -> None:
    change_role(person.memberships.get(), role=role, actor=ACTOR)
