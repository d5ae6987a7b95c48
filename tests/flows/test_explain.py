"""POST /v1/admission/explain and explain_call against a running gateway."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.flows.caller import Answer, Caller
from tests.flows.site import Site
from tests.flows.test_limit_rules import limit
from tests.support.waiting import wait_until

EXPLAIN = "/v1/admission/explain"
HELLO = {"messages": [{"role": "user", "content": "Hello"}]}


def explain(caller: Caller, *, path: str = EXPLAIN, **question: Any) -> Answer:
    return caller.ask(path=path, raw=json.dumps(question).encode())


def explained(caller: Caller, **question: Any) -> dict[str, Any]:
    answer = explain(caller, **{"model": caller.model} | question)
    assert answer.status == 200, answer.body
    data: dict[str, Any] = answer.json["data"]
    return data


def step(data: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in data["steps"] if one["step"] == name)
    return found


def test_a_call_that_would_be_admitted(site: Site, caller: Caller) -> None:
    data = explained(caller, body=HELLO | {"max_tokens": 7})

    assert (data["decision"], data["error"], data["model"]) == ("admitted", None, "fake-model")
    assert {one["result"] for one in data["steps"]} == {"passed"}
    assert (data["key_id"], data["address"]) == (caller.key_id, "127.0.0.1")
    assert data["max_output_tokens"] == 7
    called = caller.ask(max_tokens=7)
    record = site.record(called.call_id)
    assert called.status == 200
    assert site.balance_nusd(caller) == 10**9 - record["charge_nusd"]
    assert len(site.office.do("records", key_id=caller.key_id)) == 1


@pytest.mark.parametrize("path", ["/api/v1/admission/explain", "/openai/v1/admission/explain"])
def test_under_every_mount_with_an_example_for_a_body(caller: Caller, path: str) -> None:
    answer = explain(caller, path=path, model="fake-model", endpoint="chat_completions")

    assert answer.json["data"]["decision"] == "admitted"


def test_the_last_request_of_a_minute_is_not_taken(site: Site) -> None:
    caller = site.limited_caller(max_requests_per_minute=1, burst=2, max_concurrent=3)

    before = [explained(caller) for _ in range(5)]
    calls = [caller.ask() for _ in range(3)]
    after = explained(caller)

    assert [one["decision"] for one in before] == ["admitted"] * 5
    limits = step(before[-1], "limits")["limits"]
    assert [(one["level"], one["burst"], one["current"]) for one in limits] == [("token", 2, 0)]
    assert step(before[-1], "concurrency")["limits"][0]["max"] == 3
    assert [call.status for call in calls] == [200, 200, 429]
    assert (after["decision"], after["error"]["step"]) == ("refused", "limits")
    assert after["error"]["code"] == calls[-1].error["code"]
    assert after["error"]["message"] == calls[-1].error["message"]
    assert step(after, "concurrency")["result"] == "not_reached"


def test_rules_of_several_levels(site: Site) -> None:
    caller = site.limited_caller()
    hourly = ("--metric", "tokens", "--period", "hour")
    of_workspace = limit(site, caller, *hourly, "--maximum", "100000", of="workspace")
    of_key = limit(site, caller, *hourly, "--maximum", "50")
    capped = limit(
        site, caller, "--metric", "completion_tokens", "--maximum", "500", "--per-request"
    )

    data = explained(caller, body=HELLO | {"max_tokens": 100})
    called = caller.ask("Hello", max_tokens=100)
    beyond = explained(caller, body=HELLO | {"max_tokens": 501})
    caps = step(data, "caps")

    limits = step(data, "limits")["limits"]
    assert [(one["rule_id"], one["result"], one["max"]) for one in limits] == [
        (of_workspace, "passed", 100_000),
        (of_key, "refused", 50),
    ]
    assert {one["current"] for one in limits} == {0}
    assert data["error"]["details"]["requested"] == called.error["details"]["requested"] > 100
    assert site.record(called.call_id)["refusal"]["rule_id"] == of_key
    assert caps["result"] == "passed"
    assert [(one["rule_id"], one["max"], one["requested"]) for one in caps["limits"]] == [
        (capped, 500, 100)
    ]
    assert beyond["error"]["step"] == "caps"
    assert beyond["error"]["details"]["rule_id"] == capped


def test_money_and_budgets(site: Site) -> None:
    poor = site.caller(credit_nusd=10_000)
    frugal = site.limited_caller(daily_limit_nusd=10_000)

    lack, budget = explained(poor, body=HELLO), explained(frugal, body=HELLO)

    assert lack["error"]["code"] == poor.ask("Hello").error["code"] == "insufficient_credits"
    money = step(lack, "money")["limits"][0]
    assert (money["metric"], money["max"]) == ("cost_micro_usd", None)
    assert money["requested"] > 10
    assert budget["error"]["details"] == frugal.ask("Hello").error["details"]
    assert step(budget, "money")["result"] == "passed"


def test_address_country_and_program_that_are_asked_about(site: Site) -> None:
    caller = site.caller(allowed_ips=["127.0.0.1/32"])
    site.office.do(
        "access_rules", workspace_id=caller.workspace_id, denied_user_agents=["*scraper*"]
    )
    wait_until(
        lambda: explained(caller, user_agent="a scraper")["decision"] == "refused",
        what="the rule to be in force",
    )

    assert explained(caller, address="192.0.2.7")["error"]["step"] == "address"
    assert explained(caller, user_agent="a scraper")["error"]["step"] == "user_agent"
    assert explained(caller)["decision"] == "admitted"


def test_another_key_of_the_workspace(site: Site, caller: Caller) -> None:
    reader = site.another_key(caller.workspace_id, scopes=["usage.workspace"])
    stranger = site.caller()
    site.office.do("revoke", key_id=caller.key_id)

    def revoked() -> bool:
        data = explained(reader, key_id=caller.key_id)
        return bool(data["error"] and data["error"]["step"] == "life")

    wait_until(revoked, what="the key to be revoked")
    own = explained(reader)
    foreign = explain(reader, model="fake-model", key_id=stranger.key_id)
    unscoped = explain(stranger, model="fake-model", key_id=caller.key_id)

    assert (own["error"]["code"], own["error"]["step"]) == ("insufficient_scope", "scope")
    assert (foreign.status, foreign.error["param"]) == (404, "key_id")
    assert (unscoped.status, unscoped.error["code"]) == (403, "insufficient_scope")
    assert explain(caller, model="fake-model").status == 401


@pytest.mark.parametrize(
    ("question", "param"),
    [
        ({"model": 5}, "model"),
        ({"model": "fake-model", "address": "not one"}, "address"),
        ({"model": "fake-model", "endpoint": "chat"}, "endpoint"),
        ({"model": "fake-model", "country": "Germany"}, "country"),
        ({"model": "fake-model", "user_agent": "a\nb"}, "user_agent"),
        ({"model": "fake-model", "key_id": "x"}, "key_id"),
        ({"model": "fake-model", "body": []}, "body"),
        ({"modell": "fake-model"}, "modell"),
    ],
)
def test_questions_that_are_none(caller: Caller, question: dict[str, Any], param: str) -> None:
    answer = explain(caller, **question)

    assert (answer.status, answer.error["param"]) == (400, param)


def test_other_methods_and_no_key(caller: Caller) -> None:
    got = caller.ask(path=EXPLAIN, method="GET", raw=b"")
    nobody = caller.with_(secret="").ask(path=EXPLAIN, raw=b"{}", headers={"authorization": ""})
    forged = caller.ask(
        path=EXPLAIN,
        raw=b"{}",
        headers={"authorization": "", "x-tollhouse-operator": f"{caller.key_id}:1:forged"},
    )

    assert (got.status, got.headers["allow"]) == (405, "POST, OPTIONS")
    assert (nobody.status, forged.status) == (401, 401)


def test_a_body_that_is_no_call(caller: Caller) -> None:
    data = explained(caller, body={"messages": "Hello"})

    assert (data["error"]["step"], data["error"]["param"]) == ("request", "messages")
    assert step(data, "model")["result"] == "not_reached"


def test_the_command_asks_the_running_server(site: Site) -> None:
    caller = site.limited_caller(max_requests_per_minute=1, burst=1)
    assert caller.ask().status == 200
    question = ("--key", caller.key_id, "--model", "fake-model", "--address", "127.0.0.1")

    url = f"http://127.0.0.1:{site.gateway.port}"
    data = site.gateway.manage("explain_call", *question, "--url", url)

    assert (data["decision"], data["error"]["step"]) == ("refused", "limits")
    assert step(data, "limits")["limits"][0]["max"] == 1


def test_the_record_of_a_refused_call_says_which_check(site: Site) -> None:
    caller = site.limited_caller(max_requests_per_minute=1, burst=1)
    caller.ask()

    refused = caller.ask()

    assert refused.status == 429
    assert site.record(refused.call_id)["refusal"] == {
        "step": "limits",
        "level": "token",
        "limit": {"metric": "requests", "period": "minute", "max": 1, "per_request": False},
        "current": 1,
        "requested": 1,
    }
