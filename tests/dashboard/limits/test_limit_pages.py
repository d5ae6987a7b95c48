"""The pages of limits: what the form says of each field, and what people see of each level."""

from __future__ import annotations

import re
from typing import Any

import pytest

from accounts.models import Membership, Role, Workspace
from dashboard.forms.submit_once import new_form_token
from dashboard.limits.places import OFFERED
from gateway.launch import limit_trial
from keys.limit_rules import (
    add_limit_rule,
    for_each_key,
    for_each_member,
    for_installation,
    for_key,
    for_member,
    for_model,
    for_workspace,
    values_of,
)
from keys.models import LimitRule
from keys.services import revoke_key
from tests.dashboard.visitors import HTMX, path_of, signed_in
from tests.factories import ACTOR, make_key, make_member, make_model, make_user, make_workspace

pytestmark = pytest.mark.django_db

REQUESTS: dict[str, Any] = {"metric": "requests", "maximum": 5, "period": "minute"}


@pytest.fixture
def workspace() -> Workspace:
    return make_workspace()


def form(**fields: Any) -> dict[str, Any]:
    return {
        "holder": "workspace",
        "metric": "requests",
        "maximum": "5",
        "period": "minute",
        "algorithm": "rolling",
        "is_enabled": "on",
        "token": new_form_token(),
    } | fields


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_a_form_that_is_sent_twice_adds_one_limit(
    workspace: Workspace, headers: dict[str, Any]
) -> None:
    visitor, sent = signed_in(make_member(workspace)), form()

    visitor.post(path_of("limit-create"), sent, headers=headers)
    again = visitor.post(path_of("limit-create"), sent, headers=headers)
    page = again.content.decode()

    assert workspace.limit_rules.count() == 1
    assert again.status_code == 409
    assert "This form was already submitted. The limit is in the list." in page
    token = re.search(r'name="token" value="([^"]+)"', page)
    assert token
    visitor.post(path_of("limit-create"), sent | {"token": token[1]}, headers=headers)
    assert workspace.limit_rules.count() == 2


def test_a_form_of_a_limit_without_its_token_is_refused(workspace: Workspace) -> None:
    visitor = signed_in(make_member(workspace))

    answer = visitor.post(path_of("limit-create"), form(token=""))

    assert answer.status_code == 409
    assert "This form has expired. Open it again." in answer.content.decode()
    assert "in the list" not in answer.content.decode()
    assert not workspace.limit_rules.exists()


def test_a_limit_of_each_level_is_added_and_shown(workspace: Workspace) -> None:
    owner, key = make_member(workspace, Role.OWNER), make_key(workspace, label="Shop").key
    membership = Membership.objects.get(user=owner)
    visitor = signed_in(owner)
    holders = {
        "workspace": "Workspace",
        "member:each": "Each member",
        f"member:{membership.pk}": owner.email,
        "key:each": "Each key",
        f"key:{key.pk}": "Shop",
    }

    answers = [visitor.post(path_of("limit-create"), form(holder=each)) for each in holders]
    rows = visitor.get(path_of("limit-list")).context["table"].items

    assert [answer.status_code for answer in answers] == [302] * len(holders)
    assert {row.holder for row in rows} == set(holders.values())
    assert {row.words for row in rows} == {"5 requests per minute"}


def test_limits_of_the_installation_and_of_models_are_the_operators(workspace: Workspace) -> None:
    make_model("m")
    visitor = signed_in(make_user(is_operator=True))
    create = path_of("installation-limit-create")

    for holder in ("installation", "model:m"):
        answer = visitor.post(create, form(holder=holder, metric="tokens", maximum="1,000,000"))
        assert answer.status_code == 302
    unknown = visitor.post(create, form(holder="model:nope"))
    rows = visitor.get(path_of("installation-limit-list")).context["table"].items

    assert [(row.holder, row.words) for row in rows] == [
        ("Installation", "1,000,000 tokens per minute"),
        ("m", "1,000,000 tokens per minute"),
    ]
    assert unknown.status_code == 422
    assert list(unknown.context["form"].errors) == ["holder"]


@pytest.mark.parametrize(
    ("field", "words", "fields"),
    [
        ("holder", "Select a valid choice", {"holder": "key:nope"}),
        ("holder", "Select a valid choice", {"holder": "installation"}),
        ("holder", "Choose what it is for", {"holder": ""}),
        ("metric", "Select a valid choice", {"metric": "calls"}),
        ("maximum", "Enter a whole number of requests from 1", {"maximum": ""}),
        ("maximum", "Enter a whole number of requests from 1", {"maximum": "0"}),
        ("maximum", "Enter a whole number, such as 1000", {"maximum": "1.5"}),
        ("maximum", "Enter a whole number, such as 1000", {"maximum": "10,00"}),
        ("maximum", "Enter an amount from 0.000001", {"metric": "cost_micro_usd", "maximum": "0"}),
        ("maximum", "without commas", {"metric": "cost_micro_usd", "maximum": "1,50"}),
        ("period", "Choose a period", {"period": ""}),
        ("period", "requires tokens or cost", {"period": "request"}),
        ("algorithm", "Select a valid choice", {"algorithm": "leaky"}),
        ("burst", "Burst requires the token bucket", {"burst": "5"}),
        ("burst", "Enter a whole number", {"burst": "x", "algorithm": "token_bucket"}),
        ("label", "at most 80", {"label": "x" * 81}),
    ],
)
def test_the_form_says_of_each_field_what_is_wrong(
    workspace: Workspace, field: str, words: str, fields: dict[str, str]
) -> None:
    visitor = signed_in(make_member(workspace))

    answer = visitor.post(path_of("limit-create"), form(**fields), headers=HTMX)

    assert answer.status_code == 422
    errors = answer.context["form"].errors
    assert list(errors) == [field]
    assert words in errors[field][0]
    assert not LimitRule.objects.exists()


@pytest.mark.parametrize(
    ("fields", "stored"),
    [
        ({"metric": "concurrent_requests"}, ("", "", False)),
        ({"metric": "tokens", "period": "request"}, ("", "", True)),
        ({"metric": "tokens", "period": "week"}, ("week", "rolling", False)),
        ({"algorithm": ""}, ("minute", "rolling", False)),
    ],
)
def test_menus_that_say_nothing_of_a_limit_are_left_out(
    workspace: Workspace, fields: dict[str, str], stored: tuple[str, str, bool]
) -> None:
    signed_in(make_member(workspace)).post(path_of("limit-create"), form(**fields))

    rule = LimitRule.objects.get()
    assert (rule.period, rule.algorithm, rule.per_request) == stored


def test_a_limit_is_changed_in_the_dialog(workspace: Workspace) -> None:
    rule = add_limit_rule(
        for_workspace(workspace),
        metric="cost_micro_usd",
        maximum=2_500_000_000,
        period="day",
        actor=ACTOR,
    )
    visitor = signed_in(make_member(workspace))
    url = path_of("limit-edit", rule.pk)

    page = visitor.get(url, headers=HTMX).context["form"]
    seen = page["seen"].value()
    fields = {"maximum": "$1.25", "only_models": "gpt-*", "label": "Trial", "seen": seen}
    wrong = visitor.post(url, fields | {"maximum": "much"}, headers=HTMX)
    saved = visitor.post(url, fields, headers=HTMX)
    late = visitor.post(url, fields, headers=HTMX)
    rule.refresh_from_db()

    assert page["maximum"].value() == "2.50"
    assert wrong.status_code == 422
    assert (saved.status_code, saved.headers["HX-Redirect"]) == (
        204,
        f"/w/{workspace.slug}/limits",
    )
    assert late.status_code == 409
    values = values_of(rule)
    assert (values["maximum"], values["only_models"]) == (1_250_000_000, ["gpt-*"])
    assert (values["label"], values["is_enabled"]) == ("Trial", False)


def test_a_limit_on_some_models_names_them_at_every_width(workspace: Workspace) -> None:
    add_limit_rule(for_workspace(workspace), actor=ACTOR, **REQUESTS, only_models=["gpt-*", "o3"])
    visitor = signed_in(make_member(workspace, Role.OWNER))

    page = visitor.get(path_of("limit-list")).content.decode()

    assert '<div class="cell-sub">Only gpt-*, o3</div>' in page


def test_a_limit_is_removed_after_a_question(workspace: Workspace) -> None:
    rule = add_limit_rule(for_each_key(workspace), actor=ACTOR, **REQUESTS)
    visitor = signed_in(make_member(workspace))
    url = path_of("limit-remove", rule.pk)

    question = visitor.get(url).content.decode()
    answer = visitor.post(url)
    again = visitor.post(url)

    assert "Each key: 5 requests per minute" in question
    assert (answer.status_code, again.status_code) == (302, 404)
    assert not LimitRule.objects.exists()


def test_limits_of_another_workspace_and_the_installation_are_not_there(
    workspace: Workspace,
) -> None:
    strangers = [
        add_limit_rule(for_workspace(make_workspace("Other")), actor=ACTOR, **REQUESTS),
        add_limit_rule(for_installation(), actor=ACTOR, **REQUESTS),
    ]
    visitor = signed_in(make_member(workspace, Role.OWNER))

    answers = [visitor.get(path_of("limit-edit", rule.pk)) for rule in strangers]

    assert [answer.status_code for answer in answers] == [404, 404]
    assert visitor.get(path_of("installation-limit-list")).status_code == 403


def test_who_does_not_manage_the_workspace_sees_limits_and_changes_none(
    workspace: Workspace,
) -> None:
    rule = add_limit_rule(for_workspace(workspace), actor=ACTOR, **REQUESTS)
    visitor = signed_in(make_member(workspace, Role.DEVELOPER))

    page = visitor.get(path_of("limit-list")).content.decode()

    assert "5 requests per minute" in page
    for words in ("Add limit", "Set the budget of a member", "can also be set"):
        assert words not in page  # what leads them nowhere
    assert str(rule.pk) not in page.replace(f"limit-row-{rule.pk}", "")
    assert signed_in(make_member(workspace, Role.BILLING)).get("/limits").status_code == 403


def test_an_admin_is_not_offered_to_change_a_limit_set_for_them(workspace: Workspace) -> None:
    admin = make_member(workspace, Role.ADMIN)
    rule = add_limit_rule(for_member(Membership.objects.get(user=admin)), actor=ACTOR, **REQUESTS)
    visitor = signed_in(admin)

    [row] = visitor.get(path_of("limit-list")).context["table"].items
    answers = [visitor.get(path_of(name, rule.pk)) for name in ("limit-edit", "limit-remove")]

    assert not row.may_change
    assert [answer.status_code for answer in answers] == [403, 403]


def test_a_key_page_shows_the_limits_it_is_under_with_where_each_is_set(
    workspace: Workspace,
) -> None:
    make_model("m")
    member = make_member(workspace, Role.DEVELOPER)
    key = make_key(workspace, created_by=member).key
    membership = Membership.objects.get(user=member)
    holders = [
        *(for_installation(), for_model("m"), for_workspace(workspace)),
        *(for_each_member(workspace), for_member(membership)),
        *(for_each_key(workspace), for_key(key)),
    ]
    for holder in holders:
        add_limit_rule(holder, actor=ACTOR, **REQUESTS)

    page = signed_in(member).get(path_of("key-edit", key.pk))

    assert [row.holder for row in page.context["limits"]] == [
        *("Installation", "Model m", "Workspace", "Each member", member.email),
        *("Each key", "This key"),
    ]
    assert "Add limit" not in page.content.decode()


def test_a_key_page_leads_to_a_limit_of_the_key(workspace: Workspace) -> None:
    visitor = signed_in(make_member(workspace))
    keys = [make_key(workspace).key for _ in range(3)]
    url = f"{path_of('limit-create')}?for=key:{keys[0].pk}"

    page = visitor.get(path_of("key-edit", keys[0].pk)).content.decode()
    chosen = visitor.get(url, headers=HTMX).context["form"]["holder"]

    assert f"/w/{workspace.slug}{url}" in page
    assert chosen.value() == f"key:{keys[0].pk}"


def test_a_key_that_is_not_in_the_menu_can_be_limited_from_its_page(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dashboard.limits.places.OFFERED", 1)
    visitor = signed_in(make_member(workspace))
    old, _ = make_key(workspace, label="Old").key, make_key(workspace).key

    page = visitor.get(f"{path_of('limit-create')}?for=key:{old.pk}").content.decode()
    answer = visitor.post(path_of("limit-create"), form(holder=f"key:{old.pk}"))

    assert OFFERED > 1
    assert f'value="key:{old.pk}" selected' in page
    assert answer.status_code == 302


def test_a_revoked_key_gets_no_limit(workspace: Workspace) -> None:
    key = make_key(workspace).key
    revoke_key(key, actor=ACTOR)

    answer = signed_in(make_member(workspace)).post(
        path_of("limit-create"), form(holder=f"key:{key.pk}")
    )

    assert answer.status_code == 422
    assert "revoked key cannot be changed" in answer.content.decode()


def test_limits_are_found_by_what_they_are_for(workspace: Workspace) -> None:
    visitor = signed_in(make_member(workspace))
    key = make_key(workspace, label="Invoice reader").key
    add_limit_rule(for_key(key), actor=ACTOR, **REQUESTS)
    add_limit_rule(for_workspace(workspace), actor=ACTOR, label="Trial", **REQUESTS)

    found = {
        text: [row.holder for row in visitor.get(f"/limits?q={text}").context["table"].items]
        for text in ("invoice", "trial", "nothing")
    }

    assert found == {"invoice": ["Invoice reader"], "trial": ["Workspace"], "nothing": []}


def test_limits_are_tried_one_at_a_time(workspace: Workspace) -> None:
    visitor = signed_in(make_member(workspace))
    with limit_trial._running:
        answer = visitor.post(path_of("limit-create"), form(**{"try": "on"}))

    assert answer.status_code == 200
    assert "Another limit is being tried" in answer.content.decode()
    assert not LimitRule.objects.exists()


def test_who_may_not_set_limits_may_not_try_them(workspace: Workspace) -> None:
    visitor = signed_in(make_member(workspace, Role.DEVELOPER))

    answer = visitor.post(path_of("limit-create"), form(**{"try": "on"}))

    assert answer.status_code == 403
