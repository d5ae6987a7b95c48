"""Limits by command."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from accounts.models import Workspace
from keys.limit_rules import add_limit_rule, for_installation
from keys.models import LimitRule
from tests.factories import ACTOR, make_key, make_member, make_model, make_workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspace() -> Workspace:
    return make_workspace()


def command(name: str, *arguments: str) -> Any:
    out = StringIO()
    call_command(name, *arguments, "--json", stdout=out)
    return json.loads(out.getvalue())


def test_limits_by_command(workspace: Workspace) -> None:
    per_day = ("--metric", "cost", "--maximum", "2.50", "--period", "day")

    added = command("set_limit_rule", "--workspace", workspace.slug, *per_day, "--label", "Trial")
    changed = command("set_limit_rule", "--rule", added["rule_id"], "--maximum", "1")
    again = command("set_limit_rule", "--rule", added["rule_id"], "--maximum", "1")
    listed = command("list_limit_rules", "--workspace", workspace.slug)["limits"]
    removed = command("remove_limit_rule", added["rule_id"])

    assert added == {
        "changed": True,
        "rule_id": added["rule_id"],
        "level": "workspace",
        "workspace_id": str(workspace.pk),
        "member": None,
        "key_id": None,
        "model": None,
        "limit": "$2.50 per day",
        "metric": "cost_micro_usd",
        "maximum": 2_500_000,
        "maximum_usd": "2.50",
        "period": "day",
        "algorithm": "rolling",
        "burst": None,
        "per_request": False,
        "only_models": [],
        "label": "Trial",
        "enabled": True,
    }
    assert changed == added | {
        "maximum": 1_000_000,
        "maximum_usd": "1.00",
        "limit": "$1.00 per day",
    }
    assert again == changed | {"changed": False}
    assert listed == [{name: value for name, value in changed.items() if name != "changed"}]
    assert removed["changed"]
    assert not LimitRule.objects.exists()


def test_commands_name_what_a_limit_is_for(workspace: Workspace) -> None:
    member, key = make_member(workspace), make_key(workspace).key
    make_model("m")
    of_workspace = ("--workspace", workspace.slug)
    options: dict[str, tuple[str, ...]] = {
        "installation": ("--installation",),
        "m": ("--model", "m"),
        str(workspace.pk): of_workspace,
        member.email: (*of_workspace, "--member", member.email),
        "member": (*of_workspace, "--each-member"),
        str(key.pk): ("--key", str(key.pk)),
        "key": (*of_workspace, "--each-key"),
    }

    for named, holder in options.items():
        slots = ("--metric", "concurrent_requests", "--maximum", "3")
        answer = command("set_limit_rule", *holder, *slots)
        assert named in answer.values()

    out = StringIO()
    call_command("list_limit_rules", "--key", str(key.pk), stdout=out)
    lines = out.getvalue().splitlines()
    assert [line.partition("  ")[2] for line in lines] == [
        "Installation: 3 concurrent requests",
        "m: 3 concurrent requests",
        "Workspace: 3 concurrent requests",
        "A key: 3 concurrent requests",
        "Each key: 3 concurrent requests",
    ]


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("Specify what the limit is for", []),
        ("Specify what the limit is for", ["--each-key"]),
        ("Specify what the limit is for", ["--installation", "--model", "m"]),
        ("Specify what the limit is for", ["--installation", "--each-key"]),
        ("The model 'nope' does not exist", ["--model", "nope"]),
        ("completion_tokens, cost, conc", ["--installation", "--maximum", "1", "--period", "day"]),
        ("'completion_tokens', 'cost'", ["--installation", "--metric", "apples"]),
        ("not a whole number", ["--installation", "--metric", "tokens", "--maximum", "1.5"]),
        ("maximum: Enter a whole number", ["--installation", "--metric", "tokens"]),
        ("The limit 'x' does not exist", ["--rule", "x"]),
    ],
)
def test_a_command_says_what_is_wrong(words: str, options: list[str]) -> None:
    with pytest.raises(CommandError, match=words):
        call_command("set_limit_rule", *options)

    assert not LimitRule.objects.exists()


def test_a_command_changes_no_more_than_can_be_changed() -> None:
    rule = add_limit_rule(
        for_installation(), metric="requests", maximum=5, period="minute", actor=ACTOR
    )

    with pytest.raises(CommandError, match="cannot be changed"):
        call_command("set_limit_rule", "--rule", str(rule.pk), "--period", "day")
    call_command("set_limit_rule", "--rule", str(rule.pk), "--no-enabled", stdout=StringIO())

    rule.refresh_from_db()
    assert (rule.period, rule.is_enabled) == ("minute", False)
