"""The page of a workspace's access rules, and what other pages say of them."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.models import Workspace
from keys.access import access_rules_of, set_access_rules
from tests.dashboard.visitors import key_form, path_of, signed_in
from tests.factories import make_key, make_member, make_workspace

pytestmark = pytest.mark.django_db


def form(workspace: Workspace, **fields: Any) -> dict[str, Any]:
    visitor = signed_in(make_member(workspace))
    page = visitor.get(path_of("settings-access")).context["form"]
    return {"models_mode": "all", "ips_mode": "all", "seen": page["seen"].value()} | fields


def test_rules_are_saved_and_shown() -> None:
    workspace = make_workspace()
    visitor = signed_in(make_member(workspace))
    fields = {
        "models_mode": "some",
        "allowed_patterns": "openai/*\nclaude-*",
        "denied_models": "openai/gpt-3*",
        "ips_mode": "some",
        "allowed_ips": "203.0.113.0/24",
        "denied_ips": "203.0.113.7",
        "denied_user_agents": "curl/*\npython-requests",
        "allowed_hosts": "Example.com\n*.example.com",
        "denied_hosts": "secret.example.com",
    }

    answer = visitor.post(path_of("settings-access"), form(workspace, **fields))
    rules = access_rules_of(workspace)
    settings = visitor.get(path_of("settings")).content.decode()
    key = visitor.get(path_of("key-edit", make_key(workspace).key.pk)).content.decode()
    again = visitor.get(path_of("settings-access")).context["form"]

    assert answer.status_code == 302
    assert rules.allowed_models == ["openai/*", "claude-*"]
    assert rules.denied_ips == ["203.0.113.7/32"]
    assert rules.denied_user_agents == ["curl/*", "python-requests"]
    assert (rules.allowed_hosts, rules.denied_hosts) == (
        ["example.com", "*.example.com"],
        ["secret.example.com"],
    )
    assert "Denied IPs: 203.0.113.7/32" in settings
    assert "Denied hosts of fetched URLs: secret.example.com" in settings
    assert "Models: openai/*, claude-*" in key
    assert again["allowed_patterns"].value() == "openai/*\nclaude-*"


def test_a_maximum_lifetime_caps_keys_and_is_offered_to_new_ones() -> None:
    workspace = make_workspace()
    visitor = signed_in(make_member(workspace))
    endless = make_key(workspace).key

    answer = visitor.post(path_of("settings-access"), form(workspace, max_key_days="30"))
    settings = visitor.get(path_of("settings")).content.decode()
    new = visitor.get(path_of("key-create")).context["form"]
    endless.refresh_from_db()

    assert answer.status_code == 302
    assert endless.expires_at is not None
    assert "Maximum key lifetime: 30 days" in settings
    assert new["expires"].value() == "30d"


def test_wrong_rules_are_named_beside_their_fields() -> None:
    workspace = make_workspace()
    visitor = signed_in(make_member(workspace))
    wrong = {"denied_models": "*", "denied_ips": "x", "allowed_countries": "DE"}

    answer = visitor.post(path_of("settings-access"), form(workspace, **wrong))

    assert answer.status_code == 422
    assert set(answer.context["form"].errors) == set(wrong)


@pytest.mark.parametrize("typed", ["gpt-4o gpt-5", "gpt-4o, gpt-5"])
def test_several_models_on_one_line_are_refused(typed: str) -> None:
    workspace = make_workspace()
    visitor = signed_in(make_member(workspace))

    answer = visitor.post(path_of("settings-access"), form(workspace, denied_models=typed))

    assert answer.status_code == 422
    [error] = answer.context["form"].errors["denied_models"]
    assert "one by one" in error
    assert access_rules_of(workspace).denied_models == []


def test_rules_that_let_everyone_in_are_saved_once_confirmed() -> None:
    workspace = make_workspace()
    visitor = signed_in(make_member(workspace))
    wide = form(workspace, ips_mode="some", allowed_ips="0.0.0.0/0")

    first = visitor.post(path_of("settings-access"), wide)
    second = visitor.post(path_of("settings-access"), wide | {"confirm_any_address": "on"})

    assert first.status_code == 422
    assert b"confirm_any_address" in first.content
    assert second.status_code == 302


def test_what_somebody_else_changed_meanwhile_is_not_overwritten() -> None:
    workspace = make_workspace()
    visitor = signed_in(make_member(workspace))
    fields = form(workspace, denied_models="a*")
    set_access_rules(workspace, denied_models=["b*"], actor="x")

    answer = visitor.post(path_of("settings-access"), fields)

    assert answer.status_code == 409
    assert access_rules_of(workspace).denied_models == ["b*"]


def test_a_key_has_rules_of_its_own() -> None:
    workspace = make_workspace()
    visitor = signed_in(make_member(workspace))
    key = make_key(workspace).key
    seen = visitor.get(path_of("key-edit", key.pk)).context["form"]["seen"].value()
    fields = key_form(
        seen=seen,
        models_mode="some",
        allowed_patterns="gpt-*",
        denied_models="gpt-4",
        denied_ips="10.0.0.0/8",
    )

    answer = visitor.post(path_of("key-edit", key.pk), fields)
    key.refresh_from_db()

    assert answer.status_code == 302
    assert (key.allowed_models, key.denied_models) == (["gpt-*"], ["gpt-4"])
    assert key.denied_ips == ["10.0.0.0/8"]


def test_a_developer_takes_no_denial_off_a_key() -> None:
    workspace = make_workspace()
    developer = make_member(workspace, "developer")
    key = make_key(workspace, created_by=developer, denied_models=["gpt-*"]).key
    visitor = signed_in(developer)
    page = path_of("key-edit", key.pk)
    seen = visitor.get(page).context["form"]["seen"].value()

    less = visitor.post(page, key_form(seen=seen, denied_models="gpt-4"))
    more = visitor.post(page, key_form(seen=seen, denied_models="gp*", denied_ips="10.0.0.0/8"))

    assert less.status_code == 422
    assert set(less.context["form"].errors) == {"denied_models"}
    assert more.status_code == 302
