"""Setting limits: what can be taken, what changes, and who hears of it."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command

from accounts.models import AuditEvent, ConfigChange, Membership, Role, Workspace
from accounts.permissions import NotAllowed
from gateway.stores.key_records import load_key_records
from keys import limit_actions
from keys.limit_rules import (
    MAX_RULES,
    RuleHolder,
    add_limit_rule,
    change_limit_rule,
    for_each_key,
    for_each_member,
    for_installation,
    for_key,
    for_member,
    for_model,
    for_workspace,
    remove_limit_rule,
    values_of,
)
from keys.limit_selectors import limit_rules_over
from keys.limit_words import counted_words, holder_words, limit_words
from keys.models import LimitRule
from keys.services import revoke_key
from tests.factories import ACTOR, make_key, make_member, make_model, make_user, make_workspace

pytestmark = pytest.mark.django_db

REQUESTS: dict[str, Any] = {"metric": "requests", "maximum": 5, "period": "minute"}
TOKENS: dict[str, Any] = {"metric": "tokens", "maximum": 1_000, "period": "day"}
CAP: dict[str, Any] = {"metric": "completion_tokens", "maximum": 100, "per_request": True}
SLOTS: dict[str, Any] = {"metric": "concurrent_requests", "maximum": 3}
COST: dict[str, Any] = {"metric": "cost_micro_usd", "maximum": 2_500_000_000, "period": "month"}
BUCKET: dict[str, Any] = REQUESTS | {"algorithm": "token_bucket"}


@pytest.fixture
def workspace() -> Workspace:
    return make_workspace()


@pytest.mark.parametrize(
    ("named", "values"),
    [
        ("metric", REQUESTS | {"metric": "calls"}),
        ("maximum", REQUESTS | {"maximum": 0}),
        ("maximum", REQUESTS | {"maximum": None}),
        ("maximum", REQUESTS | {"maximum": 10**9 + 1}),
        ("maximum", TOKENS | {"maximum": 10**12 + 1}),
        ("maximum", SLOTS | {"maximum": 100_001}),
        ("maximum", COST | {"maximum": 999}),
        ("maximum", COST | {"maximum": 1_500}),
        ("maximum", COST | {"maximum": 10**15 + 1_000}),
        ("period", REQUESTS | {"period": ""}),
        ("period", REQUESTS | {"period": "year"}),
        ("period", CAP | {"period": "day"}),
        ("period", SLOTS | {"period": "day"}),
        ("algorithm", REQUESTS | {"algorithm": "leaky"}),
        ("algorithm", CAP | {"algorithm": "rolling"}),
        ("algorithm", SLOTS | {"algorithm": "rolling"}),
        ("burst", REQUESTS | {"burst": 10}),
        ("burst", CAP | {"burst": 10}),
        ("burst", BUCKET | {"burst": 0}),
        ("per_request", REQUESTS | {"per_request": True, "period": ""}),
        ("per_request", SLOTS | {"per_request": True}),
        ("only_models", REQUESTS | {"only_models": [" "]}),
        ("label", REQUESTS | {"label": "x" * 81}),
        ("label", REQUESTS | {"label": "a\u202eb"}),
    ],
)
def test_what_is_no_limit_is_named_and_nothing_is_written(
    workspace: Workspace, named: str, values: dict[str, Any]
) -> None:
    with pytest.raises(ValidationError) as refusal:
        add_limit_rule(for_workspace(workspace), actor=ACTOR, **values)

    assert list(refusal.value.message_dict) == [named]
    assert not LimitRule.objects.exists()


def test_every_field_at_fault_is_named_at_once(workspace: Workspace) -> None:
    wrong: dict[str, Any] = {
        "metric": "calls",
        "maximum": 0,
        "period": "",
        "algorithm": "x",
        "label": "\x00",
    }

    with pytest.raises(ValidationError) as refusal:
        add_limit_rule(for_workspace(workspace), actor=ACTOR, **wrong)

    assert set(refusal.value.message_dict) == {"metric", "period", "algorithm", "label"}


@pytest.mark.parametrize("values", [REQUESTS, TOKENS, CAP, SLOTS, COST, BUCKET], ids=str)
def test_what_the_services_take_the_database_takes(values: dict[str, Any]) -> None:
    rule = add_limit_rule(for_installation(), actor=ACTOR, **values)

    stored = LimitRule.objects.get(pk=rule.pk)
    is_counted = bool(values.get("period"))
    assert stored.algorithm == (values.get("algorithm", "rolling") if is_counted else "")
    assert (stored.maximum, stored.created_by) == (values["maximum"], ACTOR)


@pytest.mark.parametrize(
    ("values", "words", "counted"),
    [
        (REQUESTS, "5 requests per minute", "Rolling window"),
        (REQUESTS | {"maximum": 1}, "1 request per minute", "Rolling window"),
        (TOKENS | {"algorithm": "fixed_window"}, "1,000 tokens per day", "Fixed window"),
        (CAP, "100 completion tokens per request", ""),
        (SLOTS, "3 concurrent requests", ""),
        (COST, "$2.50 per month", "Rolling window"),
        (BUCKET | {"burst": 1_200}, "5 requests per minute", "Token bucket, burst 1,200"),
        (
            COST | {"algorithm": "token_bucket", "burst": 10**9},
            "$2.50 per month",
            "Token bucket, burst $1.00",
        ),
    ],
)
def test_a_limit_in_words(values: dict[str, Any], words: str, counted: str) -> None:
    rule = add_limit_rule(for_installation(), actor=ACTOR, **values)

    assert (limit_words(rule), counted_words(rule)) == (words, counted)


def test_who_hears_of_a_limit_and_what_the_audit_log_says(workspace: Workspace) -> None:
    member = make_member(workspace)
    key, model = make_key(workspace).key, make_model("m")
    membership = Membership.objects.get(user=member)
    holders: dict[str, RuleHolder] = {
        "Installation": for_installation(),
        "m": for_model(model.name),
        "Workspace": for_workspace(workspace),
        member.email: for_member(membership),
        "Each member": for_each_member(workspace),
        "A key": for_key(key),
        "Each key": for_each_key(workspace),
    }
    ConfigChange.objects.all().delete()
    AuditEvent.objects.all().delete()

    rules = [add_limit_rule(each, actor=ACTOR, **REQUESTS) for each in holders.values()]

    assert [holder_words(rule) for rule in rules] == list(holders)
    changes = ConfigChange.objects.order_by("pk").values_list("kind", "ref")
    of_workspace = ("workspace", workspace.pk.hex)
    assert list(changes) == [
        *[("catalogue", "")] * 2,
        *[of_workspace] * 3,
        ("key", key.digest),
        of_workspace,
    ]
    words = {"limit": "5 requests per minute"}
    events = AuditEvent.objects.order_by("pk").values_list("action", "target", "details")
    assert list(events) == [
        ("installation.add_limit", "installation", words),
        ("model.add_limit", "m", words),
        ("workspace.add_limit", workspace.slug, words),
        ("member.add_limit", member.email, words),
        ("workspace.add_limit", workspace.slug, words | {"for": "each member"}),
        ("key.add_limit", str(key.pk), words),
        ("workspace.add_limit", workspace.slug, words | {"for": "each key"}),
    ]


def test_a_limit_is_changed_and_the_change_is_in_the_audit_log(workspace: Workspace) -> None:
    rule = add_limit_rule(for_workspace(workspace), actor=ACTOR, **COST)
    kept: dict[str, Any] = {"burst": None, "only_models": [], "label": "", "is_enabled": True}
    wanted: dict[str, Any] = kept | {"maximum": 10**9, "only_models": ["gpt-*"]}

    assert change_limit_rule(rule, actor=ACTOR, **wanted)
    assert not change_limit_rule(rule, actor=ACTOR, **wanted)

    assert values_of(rule)["maximum"] == 10**9
    newest = AuditEvent.objects.latest("pk")
    assert newest.action == "workspace.change_limit"
    assert newest.details == {
        "limit": "$2.50 per month",
        "maximum_nusd": [2_500_000_000, 10**9],
        "only_models": [[], ["gpt-*"]],
    }


def test_what_is_changed_is_checked_against_what_stays(workspace: Workspace) -> None:
    rule = add_limit_rule(for_workspace(workspace), actor=ACTOR, **REQUESTS)

    with pytest.raises(ValidationError) as refusal:
        change_limit_rule(
            rule, maximum=5, burst=10, only_models=[], label="", is_enabled=True, actor=ACTOR
        )

    assert list(refusal.value.message_dict) == ["burst"]


def test_a_limit_is_removed_once(workspace: Workspace) -> None:
    rule = add_limit_rule(for_workspace(workspace), actor=ACTOR, **REQUESTS)
    same = LimitRule.objects.get(pk=rule.pk)

    assert remove_limit_rule(rule, actor=ACTOR)
    assert not remove_limit_rule(same, actor=ACTOR)

    assert AuditEvent.objects.filter(action="workspace.remove_limit").count() == 1
    with pytest.raises(ValidationError, match="removed"):
        change_limit_rule(
            same, maximum=5, burst=None, only_models=[], label="", is_enabled=True, actor=ACTOR
        )


def test_a_model_already_named_and_a_revoked_key_get_no_further_limits(
    workspace: Workspace,
) -> None:
    with pytest.raises(ValidationError, match="one model"):
        add_limit_rule(for_model("m"), actor=ACTOR, **REQUESTS, only_models=["n"])
    key = make_key(workspace).key
    revoke_key(key, actor=ACTOR)
    with pytest.raises(ValidationError, match="revoked"):
        add_limit_rule(for_key(key), actor=ACTOR, **REQUESTS)


def test_so_many_limits_are_enough_for_one(workspace: Workspace) -> None:
    for number in range(MAX_RULES):
        add_limit_rule(for_workspace(workspace), actor=ACTOR, **REQUESTS | {"maximum": number + 1})

    with pytest.raises(ValidationError, match="at most"):
        add_limit_rule(for_workspace(workspace), actor=ACTOR, **REQUESTS)

    add_limit_rule(for_each_key(workspace), actor=ACTOR, **REQUESTS)


def test_a_key_sees_the_limits_that_it_is_under(workspace: Workspace) -> None:
    member = make_member(workspace)
    key = make_key(workspace, created_by=member, allowed_models=["m"]).key
    other = make_key(workspace).key
    membership = Membership.objects.get(user=member)
    holders = [
        *(for_key(key), for_each_key(workspace), for_member(membership)),
        *(for_workspace(workspace), for_model("m"), for_installation()),
    ]
    strangers = [
        *(for_key(other), for_model("n"), for_workspace(make_workspace("Other"))),
        for_member(Membership.objects.get(user=make_member(workspace))),
    ]
    for holder in [*holders, *strangers]:
        add_limit_rule(holder, actor=ACTOR, **REQUESTS)
    add_limit_rule(for_installation(), actor=ACTOR, **REQUESTS, is_enabled=False)

    found = [holder_words(rule) for rule in limit_rules_over(key)]

    assert found == ["Installation", "m", "Workspace", member.email, "A key", "Each key"]
    record = load_key_records([key.digest])[0]
    assert record is not None
    assert record.limits is not None
    assert [rule.level for rule in record.limits.rules] == ["workspace", "member", "key", "key"]


def test_limits_of_a_member_go_with_the_membership(workspace: Workspace) -> None:
    make_member(workspace, Role.OWNER)
    membership = Membership.objects.get(user=make_member(workspace))
    add_limit_rule(for_member(membership), actor=ACTOR, **REQUESTS)

    call_command("remove_member", workspace.slug, membership.user.email, stdout=StringIO())

    assert not LimitRule.objects.exists()


@pytest.mark.parametrize("role", Role.values)
def test_owners_and_admins_set_limits_of_their_workspace(workspace: Workspace, role: str) -> None:
    person = make_member(workspace, role)

    if role in (Role.OWNER, Role.ADMIN):
        rule = limit_actions.add_rule(for_workspace(workspace), person=person, values=REQUESTS)
        assert limit_actions.remove_rule(rule, person=person)
        return
    rule = add_limit_rule(for_workspace(workspace), actor=ACTOR, **REQUESTS)
    with pytest.raises(NotAllowed):
        limit_actions.add_rule(for_workspace(workspace), person=person, values=REQUESTS)
    with pytest.raises(NotAllowed):
        limit_actions.remove_rule(rule, person=person)


def test_only_operators_set_limits_of_the_installation(workspace: Workspace) -> None:
    owner, operator = make_member(workspace, Role.OWNER), make_user(is_operator=True)

    for holder in (for_installation(), for_model("m")):
        with pytest.raises(NotAllowed, match="Only operators"):
            limit_actions.add_rule(holder, person=owner, values=REQUESTS)
        rule = limit_actions.add_rule(holder, person=operator, values=REQUESTS)
        with pytest.raises(NotAllowed, match="Only operators"):
            limit_actions.remove_rule(rule, person=owner)


def test_an_admin_does_not_lift_a_limit_set_for_them(workspace: Workspace) -> None:
    owner, admin = make_member(workspace, Role.OWNER), make_member(workspace, Role.ADMIN)
    rules = {
        person: add_limit_rule(
            for_member(Membership.objects.get(user=person)), actor=ACTOR, **REQUESTS
        )
        for person in (owner, admin)
    }
    wider: dict[str, Any] = {
        "maximum": 9,
        "burst": None,
        "only_models": [],
        "label": "",
        "is_enabled": True,
    }

    with pytest.raises(NotAllowed, match="An owner"):
        limit_actions.change_rule(rules[admin], person=admin, values=wider)
    with pytest.raises(NotAllowed, match="An owner"):
        limit_actions.remove_rule(rules[admin], person=admin)
    assert limit_actions.change_rule(rules[admin], person=owner, values=wider)
    assert limit_actions.remove_rule(rules[owner], person=owner)
