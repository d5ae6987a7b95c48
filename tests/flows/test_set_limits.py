"""Limits that people set by command and on the page, over real sockets: which calls are refused, at
which level, and that changes are obeyed."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from tests.flows.caller import Answer, Caller
from tests.flows.site import Site
from tests.flows.test_admission import assert_refused
from tests.flows.test_sessions import PASSWORD, Visitor
from tests.support.waiting import wait_until

OBEYED_WITHIN_S = 20
TWO_AN_HOUR = ("--metric", "requests", "--maximum", "2", "--period", "hour")
_numbers = count(1)
Holder = Callable[[Caller], tuple[str, ...]]


def set_limit(site: Site, *arguments: str) -> dict[str, Any]:
    answer: dict[str, Any] = site.office.do(
        "command", name="set_limit_rule", arguments=list(arguments)
    )
    return answer


def member_of(site: Site, workspace_id: str, role: str = "admin") -> str:
    """Return the email of a new member."""
    email = f"limited{next(_numbers)}@example.com"
    site.office.do("person", workspace_id=workspace_id, email=email, password=PASSWORD, role=role)
    return email


def first_refusal(caller: Caller) -> Answer:
    """Return the first refusal: a limit that was set is obeyed within a second or so."""

    def ask() -> Answer | None:
        answer = caller.ask(max_tokens=5)
        return answer if answer.status != 200 else None

    found = wait_until(ask, within_s=OBEYED_WITHIN_S, what="a call to be refused")
    assert found is not None
    return found


LEVELS: dict[str, tuple[str, Holder]] = {
    "installation": ("service", lambda caller: ("--installation", "--only-model", caller.model)),
    "model": ("model", lambda caller: ("--model", caller.model)),
    "workspace": ("organisation", lambda caller: ("--workspace", caller.workspace_id)),
    "each key": ("token", lambda caller: ("--workspace", caller.workspace_id, "--each-key")),
    "key": ("token", lambda caller: ("--key", caller.key_id)),
}


@pytest.mark.parametrize("holder", LEVELS)
def test_calls_are_refused_at_the_level_that_is_limited(site: Site, holder: str) -> None:
    level, options = LEVELS[holder]
    caller = site.caller().with_(model=site.add_model(f"limited-{next(_numbers)}"))
    rule = set_limit(site, *options(caller), *TWO_AN_HOUR)

    refusal = first_refusal(caller)
    site.office.do("command", name="remove_limit_rule", arguments=[rule["rule_id"]])

    assert_refused(refusal, 429, "rate_limit_exceeded")
    assert 1 <= int(refusal.headers["retry-after"]) <= 3_660  # by sub-windows of a minute
    details = refusal.error["details"]
    assert details["level"] == level
    assert details["rule_id"] == rule["rule_id"]
    assert details["limit"] == {
        "metric": "requests",
        "period": "hour",
        "max": 2,
        "per_request": False,
    }
    assert (details["current"], details["requested"]) == (2, 1)
    wait_until(lambda: caller.ask(max_tokens=5).status == 200, what="the limit to be gone")


@pytest.mark.parametrize("option", ["--member", "--each-member"])
def test_the_keys_of_a_member_are_counted_together(site: Site, option: str) -> None:
    workspace_id = site.caller().workspace_id
    email = member_of(site, workspace_id)
    keys = [site.another_key(workspace_id, owner=email) for _ in range(2)]
    service_key = site.another_key(workspace_id)
    who = (option, email) if option == "--member" else (option,)
    set_limit(site, "--workspace", workspace_id, *who, *TWO_AN_HOUR)

    refusals = [first_refusal(key) for key in keys]
    passed = [service_key.ask(max_tokens=5).status for _ in range(3)]

    assert [refusal.error["details"]["level"] for refusal in refusals] == ["user", "user"]
    assert [refusal.error["details"]["current"] for refusal in refusals] == [2, 2]
    assert passed == [200] * 3


def test_each_key_has_a_count_of_its_own(site: Site) -> None:
    workspace_id = site.caller().workspace_id
    set_limit(site, "--workspace", workspace_id, "--each-key", *TWO_AN_HOUR)
    first = site.another_key(workspace_id)
    first_refusal(first)

    other = site.another_key(workspace_id)
    statuses = [other.ask(max_tokens=5).status for _ in range(3)]

    assert statuses == [200, 200, 429]


def test_a_limit_is_tightened_and_switched_off_while_calls_are_made(site: Site) -> None:
    caller = site.caller()
    wide = ("--metric", "requests", "--maximum", "1000", "--period", "day")
    rule_id = set_limit(site, "--key", caller.key_id, *wide)["rule_id"]
    assert caller.ask(max_tokens=5).status == 200

    set_limit(site, "--rule", rule_id, "--maximum", "1")
    refusal = first_refusal(caller)
    set_limit(site, "--rule", rule_id, "--no-enabled")

    assert refusal.error["details"]["limit"]["max"] == 1
    wait_until(lambda: caller.ask(max_tokens=5).status == 200, what="the limit to be off")


def test_a_limit_for_some_models_counts_calls_to_no_others(site: Site) -> None:
    caller = site.caller()
    set_limit(site, "--key", caller.key_id, *TWO_AN_HOUR, "--only-model", "small-*")

    refusal = first_refusal(caller.with_(model="small-model"))
    passed = [caller.ask(max_tokens=5).status for _ in range(3)]

    assert refusal.error["details"]["model_id"] == "small-model"
    assert passed == [200] * 3


@pytest.mark.parametrize(
    ("limit", "metric"),
    [
        (("--metric", "tokens", "--maximum", "60", "--period", "day"), "tokens"),
        (("--metric", "completion_tokens", "--maximum", "12", "--period", "hour"), ""),
        (("--metric", "cost", "--maximum", "0.0001", "--period", "month"), "cost_micro_usd"),
    ],
)
def test_tokens_and_cost_that_are_used_up_refuse_calls(
    site: Site, limit: tuple[str, ...], metric: str
) -> None:
    caller = site.caller()
    rule = set_limit(site, "--key", caller.key_id, *limit)

    refusal = first_refusal(caller)

    details = refusal.error["details"]
    assert refusal.status == 429
    assert details["limit"]["metric"] == (metric or "completion_tokens")
    assert details["limit"]["max"] == rule["maximum"]
    assert details["current"] + details["requested"] > rule["maximum"]


def test_an_admin_limits_a_key_on_the_page(site: Site) -> None:
    caller = site.caller()
    visitor = Visitor(site.gateway.port)
    assert visitor.sign_in(member_of(site, caller.workspace_id))
    assert visitor.get("/limits") == 200
    limits = f"{visitor.workspace}/limits"
    fields = {"holder": f"key:{caller.key_id}", "metric": "requests", "period": "day"}

    wrong = visitor.post(f"{limits}/new", fields | {"maximum": "many"})
    words = visitor.text
    saved = visitor.post(f"{limits}/new", fields | {"maximum": "1", "is_enabled": "on"})
    refusal = first_refusal(caller)

    assert (wrong, saved) == (422, 302)
    assert "Enter a whole number, such as 1000." in words
    assert refusal.error["details"]["limit"] == {
        "metric": "requests",
        "period": "day",
        "max": 1,
        "per_request": False,
    }
    assert visitor.get(f"{visitor.workspace}/keys/{caller.key_id}") == 200
    assert "1 request per day" in visitor.text


def test_a_developer_sees_limits_and_sets_none(site: Site) -> None:
    caller = site.caller()
    set_limit(site, "--workspace", caller.workspace_id, *TWO_AN_HOUR)
    visitor = Visitor(site.gateway.port)
    assert visitor.sign_in(member_of(site, caller.workspace_id, role="developer"))

    seen = visitor.get("/limits")
    text = visitor.text
    refused = visitor.post(
        f"{visitor.workspace}/limits/new", {"holder": "workspace"}, page="/limits"
    )

    assert (seen, refused) == (200, 403)
    assert "2 requests per hour" in text
