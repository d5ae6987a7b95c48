"""Service keys: the workspace's own. Who makes them, and what becomes of keys of members."""

from __future__ import annotations

import pytest
from django.core.management import call_command

from dashboard.forms.submit_once import new_form_token
from keys.access import access_rules_of
from keys.memberships import end_membership
from keys.models import ApiKey
from tests.dashboard.visitors import key_form, path_of, signed_in
from tests.factories import ACTOR, make_key, make_member, make_workspace

pytestmark = pytest.mark.django_db


def test_an_admin_makes_a_service_key_that_stays_when_they_leave() -> None:
    workspace = make_workspace()
    admin, boss = make_member(workspace), make_member(workspace, "owner")
    fields = key_form(token=new_form_token(), owner="workspace")

    answer = signed_in(admin).post(path_of("key-create"), fields)
    end_membership(workspace.memberships.get(user=admin), keeps_keys=False, actor=ACTOR)

    key = ApiKey.objects.get()
    page = signed_in(boss).get(path_of("key-edit", key.pk)).content.decode()
    assert answer.status_code == 201
    assert key.created_by is None
    assert key.is_usable
    assert "Workspace (service key)" in page


def test_a_developer_makes_none() -> None:
    workspace = make_workspace()
    developer = make_member(workspace, "developer")
    fields = key_form(token=new_form_token(), owner="workspace")

    signed_in(developer).post(path_of("key-create"), fields)

    assert ApiKey.objects.get().created_by == developer


def test_a_member_s_key_is_transferred_once_confirmed() -> None:
    workspace = make_workspace()
    admin, developer = make_member(workspace), make_member(workspace, "developer")
    key = make_key(workspace, created_by=developer).key
    page = path_of("key-transfer", key.pk)

    own = signed_in(developer).post(page)
    asked = signed_in(admin).get(page).content.decode()
    done = signed_in(admin).post(page)
    key.refresh_from_db()

    assert own.status_code == 403
    assert "Transfer key" in asked
    assert done.status_code == 302
    assert key.created_by is None


def test_scopes_that_a_member_had_lost_do_not_come_back_with_a_transfer() -> None:
    workspace = make_workspace()
    make_member(workspace, "owner")
    admin = make_member(workspace)
    key = make_key(workspace, created_by=admin, scopes=["completions", "admin"]).key
    membership = workspace.memberships.get(user=admin)
    call_command("set_role", workspace.slug, admin.email, "developer")

    end_membership(membership, keeps_keys=True, actor=ACTOR)
    key.refresh_from_db()

    assert key.created_by is None
    assert key.scopes == ["completions"]


def test_the_commands_set_and_empty_access_rules() -> None:
    workspace = make_workspace()
    rules = ["--deny-model", "gpt-*", "--deny-ip", "10.0.0.0/8", "--block-user-agent", "curl"]

    call_command("set_access_rules", workspace.slug, *rules, "--max-key-days", "90")
    call_command("set_access_rules", workspace.slug, "--deny-ip", "none")
    stored = access_rules_of(workspace)

    assert (stored.denied_models, stored.denied_user_agents) == (["gpt-*"], ["curl"])
    assert (stored.denied_ips, stored.max_key_days) == ([], 90)


def test_a_key_s_rules_are_set_by_command() -> None:
    key = make_key(make_workspace(), allowed_ips=["10.0.0.0/8"]).key

    call_command("set_key", str(key.pk), "--deny-model", "gpt-*", "--ip", "none")
    key.refresh_from_db()

    assert (key.denied_models, key.allowed_ips) == (["gpt-*"], None)
