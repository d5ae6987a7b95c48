"""Changes that a running gateway obeys: keys, rules, workspaces, the catalogue."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.flows.caller import Caller, LiveCall
from tests.flows.site import INPUT_NUSD, OUTPUT_NUSD, Site
from tests.support.waiting import wait_until

# A second is promised. The deadline tells that from what is only read again some day, and leaves a
# busy machine its time.
OBEYED_WITHIN_S = 20
LONG = "script:endless&delay_ms=20"


@pytest.fixture
def live(caller: Caller) -> Iterator[LiveCall]:
    """A stream of the caller's that goes on and on."""
    with caller.begin(LONG, stream=True, max_tokens=5_000) as call:
        call.wait_for_tokens(3)
        yield call


def wait_for(caller: Caller, status: int) -> None:
    """Return when a call of the caller's is answered with this status."""
    wait_until(
        lambda: caller.ask(max_tokens=10).status == status,
        within_s=OBEYED_WITHIN_S,
        what=f"a call to be answered with {status}",
    )


def test_a_revoked_key_is_refused_while_calls_go_on(site: Site, caller: Caller) -> None:
    assert {caller.ask(max_tokens=10).status for _ in range(25)} == {200}

    site.office.do("revoke", key_id=caller.key_id)

    wait_for(caller, 401)
    assert {caller.ask(max_tokens=10).status for _ in range(25)} == {401}


def assert_ends_as_revoked(site: Site, live: LiveCall) -> None:
    assert_ends(site, live, "invalid_api_key")


def assert_ends(site: Site, live: LiveCall, code: str) -> None:
    """Assert that a stream ends with an error event, and costs what it delivered."""
    events = list(live.events())
    assert events[-1] == "[DONE]"
    assert events[-2]["error"]["code"] == code
    assert "choices" not in events[-2]
    record = site.record(live.call_id)
    assert (record["status"], record["charge_basis"]) == ("partial", "estimate")
    assert 3 * OUTPUT_NUSD <= record["charge_nusd"] <= record["hold_nusd"]
    try_ = site.wait_for_try(live.call_id, state="cancelled")
    assert record["completion_tokens"] <= try_["completion_tokens"]


def test_a_live_stream_of_a_revoked_key_ends(site: Site, caller: Caller, live: LiveCall) -> None:
    site.office.do("revoke", key_id=caller.key_id)

    assert_ends_as_revoked(site, live)


def test_a_live_stream_ends_even_when_its_key_was_forgotten_meanwhile(
    site: Site, caller: Caller, live: LiveCall
) -> None:
    other = site.another_key(caller.workspace_id)
    site.office.do("limit_workspace", workspace_id=caller.workspace_id, max_requests_per_minute=600)
    wait_until(lambda: limited(other), what="the workspace to be read again")

    site.office.do("revoke", key_id=caller.key_id)

    assert_ends_as_revoked(site, live)


def limited(caller: Caller) -> bool:
    return "x-ratelimit-limit" in caller.ask(max_tokens=10).headers


def test_a_buffered_call_of_a_revoked_key_ends(site: Site, caller: Caller) -> None:
    call = caller.begin("script:hang")
    [begun] = site.running(caller, count=1)
    site.wait_for_try(str(begun["id"]), state="running")

    site.office.do("revoke", key_id=caller.key_id)

    answer = call.answer()
    assert (answer.status, answer.error["code"]) == (401, "invalid_api_key")
    assert site.record(answer.call_id)["charge_nusd"] == 0


def test_another_key_of_the_workspace_goes_on(site: Site, caller: Caller, live: LiveCall) -> None:
    other = site.another_key(caller.workspace_id)
    assert other.ask(max_tokens=10).status == 200

    site.office.do("revoke", key_id=other.key_id)

    wait_for(other, 401)
    live.wait_for_tokens(60)
    assert caller.ask(max_tokens=10).status == 200


def test_a_locked_workspace_is_refused_and_its_streams_end(
    site: Site, caller: Caller, live: LiveCall
) -> None:
    site.office.do("lock", workspace_id=caller.workspace_id)
    assert_ends(site, live, "workspace_locked")
    wait_for(caller, 403)
    site.office.do("unlock", workspace_id=caller.workspace_id)

    wait_for(caller, 200)


def test_streams_go_on_when_something_else_of_their_workspace_changes(
    site: Site, caller: Caller, live: LiveCall
) -> None:
    site.office.do("limit_workspace", workspace_id=caller.workspace_id, max_requests_per_minute=600)
    wait_until(lambda: limited(caller), what="the workspace to be read again")

    live.wait_for_tokens(60)


@pytest.mark.parametrize(
    "rules",
    [{"allowed_ips": ["203.0.113.7"]}, {"allowed_models": ["free-model"]}, {"scopes": ["usage"]}],
    ids=["addresses", "models", "scopes"],
)
def test_a_tightened_rule_is_obeyed_by_the_next_call(
    site: Site, caller: Caller, rules: dict[str, list[str]]
) -> None:
    call = caller.begin(f"script:tokens=9&stall_after=2&gate={caller.key_id}", stream=True)
    call.wait_for_tokens(2)

    site.office.do("edit_key", key_id=caller.key_id, **rules)

    wait_for(caller, 403)
    site.upstream.open_gate(caller.key_id)
    assert call.answer().chunks[-2]["choices"][0]["finish_reason"] == "stop"


def test_a_widened_rule_is_obeyed_too(site: Site) -> None:
    caller = site.caller(allowed_ips=["203.0.113.7"])
    assert caller.ask().status == 403

    site.office.do("edit_key", key_id=caller.key_id, allowed_ips=["127.0.0.1"])

    wait_for(caller, 200)


def test_a_new_key_is_good_at_once(site: Site, caller: Caller) -> None:
    answers = [site.another_key(caller.workspace_id).ask(max_tokens=10) for _ in range(5)]

    assert {answer.status for answer in answers} == {200}


def test_the_catalogue_is_obeyed(site: Site, caller: Caller) -> None:
    visitor = caller.with_(model="coming-model")
    assert visitor.ask().status == 404

    site.office.do("model", name="coming-model", provider="fake")
    wait_for(visitor, 200)
    site.office.do("set_prices", model="coming-model", input_pusd=0, output_pusd=0)
    wait_until(
        lambda: visitor.ask("a").json["usage"]["cost"] == 0, within_s=OBEYED_WITHIN_S, what="prices"
    )
    site.office.do("offer", model="coming-model", enabled=False)
    wait_for(visitor, 404)

    assert caller.ask("a").json["usage"]["cost"] == (INPUT_NUSD + 10 * OUTPUT_NUSD) / 10**9
