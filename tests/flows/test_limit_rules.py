"""Rules on tokens as callers meet them: what is reserved, what is corrected, what headers say."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from tests.flows.caller import Answer, Caller
from tests.flows.site import Site, running_site
from tests.flows.test_admission import assert_refused

LIMIT = 5_000


def limit(site: Site, caller: Caller, *rule: str, of: str = "key") -> str:
    """Set a limit for the caller's key or workspace, and return its id when calls obey it."""
    owner = caller.key_id if of == "key" else caller.workspace_id
    arguments = [f"--{of}", owner, *rule]
    found: dict[str, Any] = site.office.do("command", name="set_limit_rule", arguments=arguments)
    time.sleep(1.0)  # by then every process knows of a change
    return str(found["rule_id"])


def tokens_left(answer: Answer) -> int:
    return int(answer.headers["x-ratelimit-remaining-tokens"])


@pytest.fixture
def caller(site: Site) -> Caller:
    return site.limited_caller()


def test_tokens_are_reserved_while_a_call_runs_and_corrected_when_it_ends(
    site: Site, caller: Caller
) -> None:
    limit(site, caller, "--metric", "tokens", "--maximum", str(LIMIT), "--period", "hour")
    gate = f"tokens-{caller.key_id}"

    with caller.begin(f"script:tokens=10&gate={gate}", max_tokens=LIMIT - 500, stream=True) as live:
        site.running(caller, count=1)
        refused = caller.ask(max_tokens=500)
        site.upstream.open_gate(gate)
        live.answer()
    [record] = [found for found in site.records(caller, count=2) if found["http_status"] == 200]
    used = int(record["prompt_tokens"]) + int(record["completion_tokens"])

    assert_refused(refused, 429, "limit_exceeded")
    assert 1 <= int(refused.headers["retry-after"]) <= 3_660
    assert refused.error["details"]["current"] > LIMIT - 500
    assert tokens_left(refused) == LIMIT - refused.error["details"]["current"]
    assert refused.headers["x-ratelimit-limit-tokens"] == str(LIMIT)
    probe = caller.with_(model="no-such-model").ask(max_tokens=5)
    assert tokens_left(probe) == LIMIT - used
    assert caller.ask(max_tokens=LIMIT - 500).status == 200


def test_a_call_that_is_not_charged_leaves_all_tokens(site: Site, caller: Caller) -> None:
    limit(site, caller, "--metric", "tokens", "--maximum", str(LIMIT), "--period", "hour")

    failed = caller.ask("script:fail=503", max_tokens=100)

    assert failed.status >= 500
    assert tokens_left(caller.with_(model="no-such-model").ask(max_tokens=5)) == LIMIT


def test_what_can_never_pass_is_not_to_be_tried_again(site: Site, caller: Caller) -> None:
    limit(site, caller, "--metric", "tokens", "--maximum", "100", "--period", "minute")

    refused = caller.ask(max_tokens=200)

    assert_refused(refused, 429, "limit_exceeded")
    assert refused.headers["x-should-retry"] == "false"
    assert "Lower max_tokens" in refused.error["message"]


def test_a_cap_on_one_call_limits_the_output_or_refuses(site: Site, caller: Caller) -> None:
    limit(site, caller, "--metric", "completion_tokens", "--maximum", "20", "--per-request")

    refused = caller.ask(max_tokens=21)
    passed = caller.ask(max_tokens=20)
    capped = caller.ask("script:tokens=500")

    assert_refused(refused, 400, "invalid_request", "max_tokens")
    assert refused.error["details"]["limit"]["per_request"] is True
    assert passed.status == 200
    assert capped.status == 200
    assert int(site.record(capped.call_id)["completion_tokens"]) == 20


def test_a_model_that_others_fall_back_to_serves_no_more_than_its_rules_allow(site: Site) -> None:
    site.office.do("provider", name="nobody", base_url="http://127.0.0.1:1/v1")
    site.add_model("last-resort")
    site.add_model("unserved", provider="nobody", fallbacks=["last-resort"])
    rule = ("--metric", "requests", "--maximum", "1", "--period", "hour")
    arguments = ["--model", "last-resort", *rule]
    of_model = site.office.do("command", name="set_limit_rule", arguments=arguments)
    time.sleep(1.0)
    caller = site.caller().with_(model="unserved")

    served, refused = caller.ask(), caller.ask()
    asked_for = caller.with_(model="last-resort").ask()
    # Other tests of this site have no limits of models.
    site.office.do("command", name="remove_limit_rule", arguments=[of_model["rule_id"]])

    assert (served.status, served.headers["x-model-used"]) == (200, "last-resort")
    assert_refused(refused, 502, "provider_unavailable")
    record = site.record(refused.call_id)
    assert (record["status"], record["charge_nusd"]) == ("upstream_error", 0)
    assert_refused(asked_for, 429, "rate_limit_exceeded")


def test_what_was_counted_is_known_after_a_restart(home: Path) -> None:
    with running_site(home) as site:
        caller = site.caller()
        limit(site, caller, "--metric", "requests", "--maximum", "2", "--period", "month")
        before = caller.ask()
        for _ in range(2):  # also when nothing was counted in between
            site.gateway.stop()
            site.gateway.restart()

        after, refused = caller.ask(), caller.ask()

    assert (before.status, after.status) == (200, 200)
    assert_refused(refused, 429, "rate_limit_exceeded")
