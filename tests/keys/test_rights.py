"""Nobody sees, makes or edits a key beyond what they may do themselves."""

from __future__ import annotations

from itertools import chain, combinations
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from accounts.models import Role, User
from accounts.permissions import Action, may
from keys.models import ApiKey, Scope
from keys.selectors import get_key, grantable_scopes, keys_visible_to
from keys.services import update_key
from tests.factories import ACTOR, make_key, make_member, make_user, make_workspace

pytestmark = pytest.mark.django_db

EVERY_CHOICE = list(
    chain.from_iterable(combinations(Scope.values, size) for size in range(1, len(Scope) + 1))
)


def edit_as(person: User, key: ApiKey, **fields: Any) -> bool:
    same: dict[str, Any] = {
        "label": key.label,
        "scopes": key.scopes,
        "allowed_models": key.allowed_models,
        "allowed_ips": key.allowed_ips,
        "denied_models": [],
        "denied_ips": [],
        "expires_at": key.expires_at,
    }
    return update_key(key, actor=person.email, changed_by=person, **(same | fields))


@pytest.mark.parametrize("role", Role.values)
def test_a_key_never_gets_more_than_its_maker_has(role: str) -> None:
    workspace = make_workspace()
    person = make_member(workspace, role)
    held = grantable_scopes(person, workspace)

    for scopes in EVERY_CHOICE:
        if set(scopes) <= held:
            make_key(workspace, scopes=scopes, created_by=person)
        else:
            with pytest.raises(ValidationError):
                make_key(workspace, scopes=scopes, created_by=person)

    assert all(set(key.scopes) <= held for key in ApiKey.objects.all())
    assert (Scope.ADMIN in held) == may(person, Action.MANAGE_WORKSPACE, workspace)
    assert (Scope.USAGE_WORKSPACE in held) == may(person, Action.MANAGE_KEYS, workspace)
    assert bool(held) == may(person, Action.MAKE_KEYS, workspace)


def test_an_owner_is_nobody_in_another_workspace() -> None:
    owner = make_member(make_workspace("Mine"), Role.OWNER)
    elsewhere = make_workspace("Elsewhere")
    theirs, _ = make_key(elsewhere)

    with pytest.raises(ValidationError):
        make_key(elsewhere, created_by=owner)
    with pytest.raises(ValidationError):
        edit_as(owner, theirs, label="Mine now")

    assert ApiKey.objects.get().label == "A key"


def test_an_operator_may_give_any_scope_anywhere() -> None:
    workspace = make_workspace()

    key, _ = make_key(workspace, scopes=Scope.values, created_by=make_user(is_operator=True))

    assert key.scopes == Scope.values


def test_a_key_above_oneself_cannot_be_edited_not_even_to_take_rights_away() -> None:
    workspace = make_workspace()
    key, _ = make_key(workspace, scopes=["completions", "admin"], allowed_ips=["203.0.113.7"])
    developer = make_member(workspace, Role.DEVELOPER)

    for fields in ({"allowed_ips": None}, {"scopes": ["completions"]}, {"label": "x"}):
        with pytest.raises(ValidationError):
            edit_as(developer, key, **fields)

    key.refresh_from_db()
    assert (key.label, key.allowed_ips) == ("A key", ["203.0.113.7/32"])


def test_a_developer_cannot_edit_a_key_into_more_than_they_have() -> None:
    workspace = make_workspace()
    key, _ = make_key(workspace)

    with pytest.raises(ValidationError) as refusal:
        edit_as(make_member(workspace, Role.DEVELOPER), key, scopes=["completions", "admin"])

    assert set(refusal.value.message_dict) == {"scopes"}
    assert "admin" not in ApiKey.objects.get().scopes


def test_a_developer_edits_keys_of_their_kind() -> None:
    workspace = make_workspace()
    key, _ = make_key(workspace)

    assert edit_as(make_member(workspace, Role.DEVELOPER), key, label="Ours")


def test_members_see_all_keys_or_those_they_made() -> None:
    workspace = make_workspace()
    biller = make_member(workspace, Role.BILLING)
    others, _ = make_key(workspace)
    own, _ = make_key(workspace, created_by=None)
    ApiKey.objects.filter(pk=own.pk).update(created_by=biller)

    assert list(keys_visible_to(make_member(workspace, Role.VIEWER), workspace)) == [own, others]
    assert list(keys_visible_to(biller, workspace)) == [own]


def test_strangers_see_no_keys_and_operators_see_those_of_the_workspace_alone() -> None:
    here, elsewhere = make_workspace("Here"), make_workspace("Elsewhere")
    ours, _ = make_key(here)
    make_key(elsewhere)

    assert list(keys_visible_to(make_user(is_operator=True), here)) == [ours]
    assert list(keys_visible_to(make_member(elsewhere, Role.OWNER), here)) == []


def test_a_key_is_found_by_id_secret_or_its_last_four_characters() -> None:
    key, secret = make_key(make_workspace())

    found = [get_key(text) for text in (str(key.pk), key.pk.hex, secret, f" {secret}\n", key.hint)]

    assert found == [key] * 5


def test_an_ambiguous_hint_is_answered_with_ids() -> None:
    workspace = make_workspace()
    keys = [make_key(workspace).key for _ in range(2)]
    ApiKey.objects.update(hint="abcd")

    with pytest.raises(LookupError) as refusal:
        get_key("abcd")

    assert all(str(key.pk) in str(refusal.value) for key in keys)


@pytest.mark.parametrize("text", ["", "nope", "sk-gw-unknown-secret", "x" * 500])
def test_a_key_that_is_not_there_is_refused_without_repeating_what_was_typed(text: str) -> None:
    make_key(make_workspace())

    with pytest.raises(LookupError) as refusal:
        get_key(text)

    assert not text or text not in str(refusal.value)


def test_the_actor_of_a_key_is_recorded() -> None:
    key, _ = make_key(make_workspace())

    assert key.workspace.audit_events.get(action="key.issue").actor == ACTOR
