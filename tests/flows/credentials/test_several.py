"""Several credentials of a provider: shared out, resting, limited, rotated."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.fakes.accounts.server import RunningAccounts
from tests.flows.caller import Answer, Caller
from tests.flows.credentials.conftest import MakeCaller
from tests.flows.site import Site
from tests.support.waiting import wait_until

ONE, TWO, THREE = "sk-first-0123456789", "sk-second-012345678", "sk-third-0123456789"


def attempts_of(site: Site, answer: Answer) -> list[tuple[str, str]]:
    """Return the credential of each attempt at a call, and the code of its error."""
    attempts: list[dict[str, Any]] = site.record(answer.call_id)["attempts"]
    return [(each.get("credential", ""), each["code"]) for each in attempts]


@pytest.mark.parametrize("is_streamed", [False, True])
def test_calls_are_shared_out_by_weight(
    keyed_site: Site, accounts: RunningAccounts, make_caller: MakeCaller, is_streamed: bool
) -> None:
    name, caller = make_caller(ONE, TWO)
    keyed_site.office.do("set_credential", provider=name, name="c2", weight=3)

    def ask(times: int) -> Counter[str]:
        return Counter(caller.ask(stream=is_streamed).text for _ in range(times))

    wait_until(lambda: ask(8) == {ONE: 2, TWO: 6}, what="the weight to be known")
    accounts.shown.clear()

    assert ask(40) == accounts.shown == {ONE: 10, TWO: 30}


def test_a_single_credential_is_sent_as_it_is_and_needs_no_name(
    keyed_site: Site, make_caller: MakeCaller
) -> None:
    _, caller = make_caller(ONE)

    answer = caller.ask()

    assert answer.text == ONE
    assert attempts_of(keyed_site, answer) == [("", "")]


@pytest.mark.parametrize("is_streamed", [False, True])
@pytest.mark.parametrize(("status", "code"), [(429, "provider_rate_limit"), (401, "provider_auth")])
def test_a_refused_credential_rests_while_others_serve(
    keyed_site: Site,
    accounts: RunningAccounts,
    make_caller: MakeCaller,
    status: int,
    code: str,
    is_streamed: bool,
) -> None:
    name, caller = make_caller(ONE, TWO)
    accounts.refusals[ONE] = (status, {"retry-after": "120"})

    answers = [caller.ask(stream=is_streamed) for _ in range(6)]

    assert [answer.text for answer in answers] == [TWO] * 6
    assert accounts.shown == {ONE: 1, TWO: 6}
    assert [("c1", code), ("c2", "")] in [attempts_of(keyed_site, each) for each in answers]

    def state() -> dict[str, Any]:
        shown: dict[str, Any] = keyed_site.office.do("credential_states", provider=name)["c1"]
        return shown if shown["failure"] else {}

    shown = wait_until(state, what="the rest to be shown")
    assert shown["failure"] == code
    assert shown["rests_until"]


def test_a_replaced_credential_serves_at_once(
    keyed_site: Site, accounts: RunningAccounts, make_caller: MakeCaller
) -> None:
    name, caller = make_caller(ONE, TWO)
    accounts.refusals[ONE] = (401, {})
    assert {caller.ask().text for _ in range(3)} == {TWO}

    keyed_site.office.do("set_credential", provider=name, name="c1", credential=THREE)

    wait_until(lambda: caller.ask().text == THREE, what="the new credential to serve")
    assert keyed_site.office.do("credential_states", provider=name)["c1"]["failure"] == ""


def test_where_all_were_asked_too_often_the_provider_is_spared(
    accounts: RunningAccounts, make_caller: MakeCaller
) -> None:
    _, caller = make_caller(ONE, TWO)
    accounts.refusals = {key: (429, {"retry-after": "90"}) for key in (ONE, TWO)}

    first, second = caller.ask(), caller.ask()

    assert [answer.status for answer in (first, second)] == [429, 429]
    assert second.error["code"] == "provider_rate_limit"
    assert 60 <= int(second.headers["retry-after"]) <= 90
    assert accounts.shown == {ONE: 1, TWO: 1}


def test_where_all_were_refused_one_is_tried_all_the_same(
    accounts: RunningAccounts, make_caller: MakeCaller
) -> None:
    _, caller = make_caller(ONE, TWO)
    accounts.refusals = {key: (401, {}) for key in (ONE, TWO)}
    assert caller.ask().error["code"] == "provider_auth"

    accounts.refusals.clear()

    assert caller.ask().status == 200


def test_the_next_target_is_asked_once_no_credential_is_left(
    keyed_site: Site, accounts: RunningAccounts, make_caller: MakeCaller
) -> None:
    name, caller = make_caller(ONE, TWO)
    other, _ = make_caller(THREE)
    keyed_site.office.do("target", model=caller.model, provider=other)
    accounts.refusals = {key: (429, {"retry-after": "90"}) for key in (ONE, TWO)}

    wait_until(lambda: caller.ask().status == 200, what="the second target")
    answer = caller.ask()

    assert answer.text == THREE
    attempts = keyed_site.record(answer.call_id)["attempts"]
    assert attempts[-1]["provider"] == other
    assert all(each["provider"] == name for each in attempts[:-1])


def test_a_failure_of_the_provider_is_not_tried_again_with_another_credential(
    keyed_site: Site, accounts: RunningAccounts, make_caller: MakeCaller
) -> None:
    _, caller = make_caller(ONE, TWO)
    accounts.refusals = {key: (500, {}) for key in (ONE, TWO)}

    answer = caller.ask()

    assert answer.error["code"] == "provider_unavailable"
    assert len(attempts_of(keyed_site, answer)) == 1


def test_requests_per_minute_are_those_of_each_credential(
    accounts: RunningAccounts, make_caller: MakeCaller
) -> None:
    _, caller = make_caller(ONE, TWO, requests_per_minute=2)

    answers = [caller.ask() for _ in range(5)]

    assert [answer.status for answer in answers] == [200] * 4 + [429]
    assert accounts.shown == {ONE: 2, TWO: 2}
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 60


@pytest.mark.parametrize("is_streamed", [False, True])
def test_no_credential_carries_more_at_once_than_it_may(
    accounts: RunningAccounts, make_caller: MakeCaller, is_streamed: bool
) -> None:
    _, caller = make_caller(ONE, TWO, max_concurrent=1)
    accounts.holds_s = 0.3

    with ThreadPoolExecutor(6) as threads:
        asked = threads.map(lambda _: caller.ask(stream=is_streamed), range(6))
        statuses = Counter(answer.status for answer in asked)
    accounts.holds_s = 0.0

    assert accounts.most_running <= 2
    assert statuses[200] >= 2
    assert statuses[200] + statuses[429] == 6
    # What was taken is given back.
    assert [caller.ask(stream=is_streamed).status for _ in range(4)] == [200] * 4


def test_rotation_under_load_loses_no_call(
    keyed_site: Site, accounts: RunningAccounts, make_caller: MakeCaller
) -> None:
    name, caller = make_caller(ONE)
    accounts.holds_s = 0.02
    stop, statuses = threading.Event(), Counter[int]()

    def ask() -> None:
        while not stop.is_set():
            statuses[caller.ask(stream=bool(len(statuses) % 2)).status] += 1

    def rotate(old: str, new: str, secret: str) -> None:
        order: dict[str, Any] = {"provider": name, "name": new, "credential": secret}
        keyed_site.office.do("add_credential", **order)
        wait_until(lambda: accounts.shown[secret] > 0, what="the new credential to serve")
        keyed_site.office.do("set_credential", provider=name, name=old, enabled=False)
        seen = wait_until_still(accounts, order_of[old])
        accounts.refusals[order_of[old]] = (401, {})
        keyed_site.office.do("remove_credential", provider=name, name=old)
        assert accounts.shown[order_of[old]] == seen

    order_of = {"c1": ONE, "c2": TWO, "c3": THREE}
    with ThreadPoolExecutor(4) as threads:
        running = [threads.submit(ask) for _ in range(4)]
        rotate("c1", "c2", TWO)
        rotate("c2", "c3", THREE)
        stop.set()
        for each in running:
            each.result()

    assert set(statuses) == {200}
    assert caller.ask().text == THREE


def wait_until_still(accounts: RunningAccounts, key: str) -> int:
    """Return how often a key was shown, once it is shown no more."""
    seen: list[int] = []

    def is_still() -> bool:
        seen.append(accounts.shown[key])
        return len(seen) > 20 and seen[-1] == seen[-20]

    wait_until(is_still, what="the old credential to be left alone")
    return accounts.shown[key]


def test_a_variable_of_the_server_is_read_and_a_missing_one_is_told(
    keyed_site: Site, make_caller: MakeCaller
) -> None:
    _, caller = make_caller("env::SERVERS_OWN_KEY")
    assert caller.ask().text == "sk-from-the-environment"

    # The office has the server's environment, so that it may be added; nobody serves.
    name = "keyed-missing"
    order = {"name": name, "kind": "openai_compatible", "base_url": "http://127.0.0.1:1/v1"}
    keyed_site.office.do("provider", **order)
    keyed_site.office.do("add_credential", provider=name, name="lost", credential="env::NOT_THERE")
    keyed_site.office.do("model", name="keyed-lost", provider=name)

    def refusal() -> Answer | None:
        answer = keyed_site.caller().with_(model="keyed-lost").ask()
        return answer if answer.status == 503 else None

    answer = wait_until(refusal, what="the model to be known")
    assert answer is not None
    assert answer.error["code"] == "no_upstream_available"


def with_credentials(caller: Caller, secrets: object, **options: Any) -> Answer:
    members: dict[str, Any] = {"tensorzero::credentials": secrets}
    return caller.ask(**members, **options)


def test_a_call_brings_its_own_credential_and_it_is_kept_nowhere(
    keyed_site: Site, accounts: RunningAccounts, make_caller: MakeCaller
) -> None:
    _, caller = make_caller("dynamic::my_key")
    keyed_site.office.do("store_bodies", workspace_id=caller.workspace_id)
    secret = "sk-brought-0123456789"

    answer = with_credentials(caller, {"my_key": secret})
    streamed = with_credentials(caller, {"my_key": secret}, stream=True)
    accounts.refusals[secret] = (401, {})
    refused = with_credentials(caller, {"my_key": secret})

    assert answer.status == streamed.status == 200
    assert accounts.shown == {secret: 3}
    assert refused.error["code"] == "provider_auth"
    assert secret not in refused.body.decode()
    records = keyed_site.records(caller, count=3)
    kept = [keyed_site.office.do("body", call_id=each.call_id) for each in (answer, refused)]
    assert all(kept)
    assert secret not in kept[0]["request"]
    assert "tensorzero::credentials" not in kept[0]["request"]
    assert secret not in str(records)
    assert secret not in keyed_site.gateway.log.read_text()


@pytest.mark.parametrize(
    ("secrets", "param"),
    [
        (None, "tensorzero::credentials.my_key"),
        ({"other": "sk-1"}, "tensorzero::credentials.my_key"),
        ("sk-1", "tensorzero::credentials"),
        ({"my_key": 5}, "tensorzero::credentials"),
        ({"my_key": ""}, "tensorzero::credentials.my_key"),
        ({"my_key": "sk\r\nx-evil: 1"}, "tensorzero::credentials.my_key"),
        ({f"k{n}": "sk" for n in range(21)}, "tensorzero::credentials"),
    ],
)
def test_a_credential_that_is_not_brought_is_named(
    accounts: RunningAccounts, make_caller: MakeCaller, secrets: object, param: str
) -> None:
    _, caller = make_caller("dynamic::my_key")

    answer = caller.ask() if secrets is None else with_credentials(caller, secrets)

    assert (answer.status, answer.error["code"]) == (400, "invalid_request")
    assert answer.error["param"] == param
    assert not accounts.shown


def test_others_serve_calls_that_bring_none_and_a_refused_one_is_not_replaced(
    accounts: RunningAccounts, make_caller: MakeCaller
) -> None:
    _, caller = make_caller("dynamic::my_key", TWO)
    accounts.refusals["sk-brought"] = (401, {})

    assert caller.ask().text == TWO
    assert with_credentials(caller, {"my_key": "sk-good"}).text == "sk-good"
    assert with_credentials(caller, {"my_key": "sk-brought"}).error["code"] == "provider_auth"


def test_an_idempotency_key_does_not_know_the_credential(
    accounts: RunningAccounts, make_caller: MakeCaller
) -> None:
    _, caller = make_caller("dynamic::my_key")
    headers = {"idempotency-key": "one"}

    first = with_credentials(caller, {"my_key": "sk-one"}, headers=headers)
    again = with_credentials(caller, {"my_key": "sk-two"}, headers=headers)

    assert first.body == again.body
    assert accounts.shown == {"sk-one": 1}
