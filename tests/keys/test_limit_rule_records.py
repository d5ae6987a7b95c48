"""Limit rules as rows, and as calls are counted by them."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from accounts.models import Membership, Workspace
from gateway.services.snapshot import compile_snapshot
from gateway.snapshot.types import LimitRule
from gateway.stores.key_records import load_key_records
from keys.models import ApiKey
from keys.models import LimitRule as LimitRuleRow
from tests.factories import make_key, make_member, make_workspace

pytestmark = pytest.mark.django_db


def make_row(level: str, **fields: Any) -> LimitRuleRow:
    defaults: dict[str, Any] = {
        "metric": "requests",
        "maximum": 5,
        "period": "minute",
        "algorithm": "rolling",
        "created_by": "tests",
    }
    return LimitRuleRow.objects.create(level=level, **(defaults | fields))


def rules_of(key: ApiKey) -> tuple[LimitRule, ...]:
    record = load_key_records([key.digest])[0]
    assert record is not None
    return record.limits.rules if record.limits else ()


@pytest.fixture
def workspace() -> Workspace:
    return make_workspace()


def test_a_key_is_under_the_rules_of_its_workspace_its_member_and_itself(
    workspace: Workspace,
) -> None:
    member = make_member(workspace)
    key = make_key(workspace, created_by=member).key
    membership = Membership.objects.get(user=member)
    rows = [
        make_row("key", workspace=workspace, key=key),
        make_row("member", workspace=workspace, membership=membership),
        make_row("workspace", workspace=workspace),
        make_row("key", workspace=workspace),
        make_row("member", workspace=workspace),
    ]

    with CaptureQueriesContext(connection) as queries:
        rules = rules_of(key)

    assert len(queries) == 3
    assert [(rule.level, rule.rule_id, rule.owner) for rule in rules] == [
        ("workspace", str(rows[2].pk), str(workspace.pk)),
        ("member", str(rows[1].pk), str(member.pk)),
        ("member", str(rows[4].pk), str(member.pk)),
        ("key", str(rows[0].pk), str(key.pk)),
        ("key", str(rows[3].pk), str(key.pk)),
    ]


def test_rules_of_others_and_those_that_are_off_are_not_there(workspace: Workspace) -> None:
    member, other = make_member(workspace), make_member(workspace)
    key = make_key(workspace, created_by=member).key
    make_row("key", workspace=workspace, key=make_key(workspace).key)
    make_row("member", workspace=workspace, membership=Membership.objects.get(user=other))
    make_row("workspace", workspace=workspace, is_enabled=False)
    make_row("workspace", workspace=make_workspace("Other"))
    make_row("installation")

    assert rules_of(key) == ()


def test_a_service_key_is_under_no_rule_of_members(workspace: Workspace) -> None:
    make_row("member", workspace=workspace)

    assert rules_of(make_key(workspace).key) == ()


def test_rules_have_what_counting_takes(workspace: Workspace) -> None:
    key = make_key(workspace).key
    make_row(
        "workspace",
        workspace=workspace,
        metric="tokens",
        maximum=60,
        period="hour",
        algorithm="token_bucket",
        burst=120,
        only_models=["gpt-*"],
    )
    bucket: dict[str, Any] = {"metric": "cost_micro_usd", "algorithm": "token_bucket"}
    make_row("workspace", workspace=workspace, **bucket)
    capped: dict[str, Any] = {
        "metric": "tokens",
        "period": "",
        "algorithm": "",
        "per_request": True,
    }
    make_row("workspace", workspace=workspace, **capped)

    tokens, cost, per_request = rules_of(key)

    assert (tokens.metric, tokens.maximum, tokens.period) == ("tokens", 60, "hour")
    assert (tokens.algorithm, tokens.burst) == ("token_bucket", 120)
    assert tokens.models is not None
    assert [tokens.models.match(name) for name in ("gpt-5", "claude")] == [True, False]
    assert (cost.burst, cost.models) == (5, None)
    assert (per_request.per_request, per_request.period, per_request.algorithm) == (True, "", "")


def test_rules_of_the_installation_and_of_models_are_in_the_snapshot(workspace: Workspace) -> None:
    everywhere = make_row("installation")
    of_model = [make_row("model", model="m", maximum=most) for most in (1, 2)]
    make_row("model", model="n", is_enabled=False)
    make_row("workspace", workspace=workspace)

    snapshot = compile_snapshot()

    assert [(rule.rule_id, rule.owner) for rule in snapshot.rules] == [(str(everywhere.pk), "")]
    assert list(snapshot.model_rules) == ["m"]
    found = [(rule.rule_id, rule.owner) for rule in snapshot.model_rules["m"]]
    assert found == [(str(row.pk), "m") for row in of_model]


@pytest.mark.parametrize(
    "fields",
    [
        {"level": "workspace"},
        {"level": "model"},
        {"level": "installation", "model": "m"},
        {"maximum": 0},
        {"burst": 5},
        {"period": ""},
        {"algorithm": ""},
        {"metric": "concurrent_requests"},
        {"per_request": True, "period": "", "algorithm": ""},
        {"per_request": True, "metric": "tokens"},
    ],
    ids=str,
)
def test_the_database_takes_no_rule_that_does_not_fit_together(fields: dict[str, Any]) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        make_row(**({"level": "installation"} | fields))


def test_the_database_takes_no_rule_of_a_key_at_another_level(workspace: Workspace) -> None:
    key = make_key(workspace).key
    membership = Membership.objects.get(user=make_member(workspace))

    mixed: list[dict[str, Any]] = [
        {"level": "member", "key": key},
        {"level": "key", "membership": membership},
    ]
    for fields in mixed:
        with pytest.raises(IntegrityError), transaction.atomic():
            make_row(workspace=workspace, **fields)
