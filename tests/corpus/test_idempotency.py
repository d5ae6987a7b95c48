"""One run and one charge, however often a request is sent under one Idempotency-Key (C46, C48)."""

from __future__ import annotations

import json
from collections import defaultdict
from contextlib import ExitStack
from typing import Any

import pytest

from tests.corpus.oracle import Witness, assert_refused
from tests.corpus.wire import Line, request, with_key
from tests.flows.caller import Answer, Caller
from tests.flows.site import Site
from tests.support.waiting import wait_until

KEYS, CONNECTIONS, AHEAD = 7, 16, 63  # 1,008 calls at once
REPLAYED = "idempotent-replayed"


def named(key: str) -> dict[str, str]:
    return {"idempotency-key": key}


@pytest.fixture
def caller(site: Site) -> Caller:
    return site.caller()


def ask_until_served(caller: Caller, prompt: str, key: str, **members: Any) -> Answer:
    """Return the answer once the call under the key is not running any more."""

    def ask() -> Answer | None:
        answer = caller.ask(prompt, headers=named(key), **members)
        if answer.status == 409:
            assert_refused(answer, 409, "conflict")
            return None
        return answer

    answer = wait_until(ask, what=f"the call {key}")
    assert answer is not None
    return answer


def charges(site: Site, caller: Caller, *, count: int) -> list[int]:
    """Return what each call that ran has cost, once so many have ended."""

    def find() -> list[int]:
        records = site.office.do("records", key_id=caller.key_id)
        found = [record["charge_nusd"] for record in records if record["status"] == "ok"]
        return found if len(found) >= count else []

    return wait_until(find, what=f"{count} records")


@pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
@pytest.mark.parametrize("model", ["fake-model", ""], ids=["a provider's", "simulated"])
def test_a_request_sent_again_has_the_same_answer(
    site: Site, caller: Caller, witness: Witness, stream: bool, model: str
) -> None:
    wish: dict[str, Any] = {
        "model": model or site.gateway.model,
        "stream": stream,
        "headers": named("a-key"),
    }
    witness.expected_calls = int(bool(model))

    first, *others = [caller.ask(**wish) for _ in range(4)]

    assert first.status == 200
    assert {other.body for other in others} == {first.body}
    assert {other.call_id for other in others} == {first.call_id}
    assert REPLAYED not in first.headers
    assert all(other.headers[REPLAYED] == "true" for other in others)
    assert all(o.headers["content-type"] == first.headers["content-type"] for o in others)
    [charge] = charges(site, caller, count=1)
    assert charge == site.record(first.call_id)["charge_nusd"]


def test_another_request_under_the_same_key_is_refused(  # C46
    site: Site, caller: Caller, witness: Witness
) -> None:
    witness.expected_calls = 1
    assert caller.ask("one", headers=named("k")).status == 200

    for changes in ({"prompt": "two"}, {"max_tokens": 7}, {"stream": True}, {"n": None}):
        wish: dict[str, Any] = {"prompt": "one"} | changes
        answer = caller.ask(headers=named("k"), **wish)
        assert_refused(answer, 422, "idempotency_mismatch")
        assert answer.headers["x-should-retry"] == "false"


def test_keys_of_different_workspaces_have_nothing_to_do_with_each_other(  # C48
    site: Site, caller: Caller, witness: Witness
) -> None:
    stranger, sibling = site.caller(), site.another_key(caller.workspace_id)
    witness.expected_calls = 3

    mine, theirs = (who.ask("one", headers=named("k")) for who in (caller, stranger))
    other = stranger.ask("two", headers=named("k2"))
    ours = sibling.ask("one", headers=named("k"))

    assert [answer.status for answer in (mine, theirs, other, ours)] == [200] * 4
    assert mine.call_id != theirs.call_id
    assert REPLAYED not in theirs.headers
    assert ours.body == mine.body


WRONG = ("", " ", "a b", "k" * 256, "a/b", "ключ", "a,b", "a\tb", '"a"', "{}", "a=b", "%00")


@pytest.mark.parametrize("key", WRONG, ids=lambda key: repr(key)[:12])
def test_a_key_is_made_of_plain_letters(
    site: Site, abused: Caller, witness: Witness, key: str
) -> None:
    raw = with_key(request(f"Idempotency-Key: {key}".encode()), abused.secret)

    with Line(site.gateway.port) as line:
        line.send(raw)
        answer = line.listen(answers=1).answer

    assert_refused(answer, 400, "invalid_request")
    assert answer.error["param"] == "Idempotency-Key"


@pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
@pytest.mark.parametrize("script", ["fail=500&fail_times=0", "fail=429", "drop=reset"])
def test_what_failed_may_be_tried_again(
    site: Site, caller: Caller, witness: Witness, script: str, stream: bool
) -> None:
    witness.expected_calls = 2

    answers = [caller.ask(f"script:{script}", headers=named("k"), stream=stream) for _ in range(2)]

    assert [answer.error["code"].startswith("provider_") for answer in answers] == [True, True]
    assert answers[0].call_id != answers[1].call_id


def test_a_refused_call_frees_its_key(site: Site, witness: Witness) -> None:
    poor = site.caller(credit_nusd=0)
    witness.expected_calls = 1
    assert_refused(poor.ask(headers=named("k")), 402, "insufficient_credits")

    site.office.do("grant", workspace_id=poor.workspace_id, amount_nusd=10**9)
    answer = wait_until(
        lambda: a if (a := poor.ask(headers=named("k"))).status != 402 else None, what="the grant"
    )

    assert answer is not None
    assert answer.status == 200


@pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
def test_a_call_that_runs_is_not_run_beside_itself(
    site: Site, caller: Caller, witness: Witness, stream: bool
) -> None:
    prompt = f"script:tokens=5&gate={caller.key_id}"
    witness.expected_calls = 1

    with caller.begin(prompt, headers=named("k"), stream=stream) as running:
        site.running(caller, count=1)
        beside = caller.ask(prompt, headers=named("k"), stream=stream)
        site.upstream.open_gate(caller.key_id)
        first = running.answer()
    again = ask_until_served(caller, prompt, "k", stream=stream)

    assert_refused(beside, 409, "conflict")
    assert beside.headers["retry-after"] == "1"
    assert beside.headers["x-should-retry"] == "true"
    assert again.body == first.body


def test_a_caller_that_left_finds_its_answer(  # the answer is kept, whoever is there to read it
    site: Site, caller: Caller, witness: Witness
) -> None:
    prompt = f"script:tokens=5&gate={caller.key_id}"
    witness.expected_calls = 1

    left = caller.begin(prompt, headers=named("k"))
    site.running(caller, count=1)
    left.reset()
    site.upstream.open_gate(caller.key_id)
    answer = ask_until_served(caller, prompt, "k")

    assert answer.status == 200
    assert answer.headers[REPLAYED] == "true"


def calls_of(caller: Caller, key: str) -> bytes:
    """Return one request under this key; the provider takes its time, so others meet it running."""
    script = {"role": "user", "content": f"script:text={key}&first_ms=200"}
    body = json.dumps({"model": "fake-model", "messages": [script]}).encode()
    return with_key(request(f"Idempotency-Key: {key}", body=body), caller.secret)


def test_a_thousand_calls_under_few_keys_are_few_calls(site: Site, witness: Witness) -> None:
    """Each caller repeats what met a running call until it has its answer."""
    caller = site.caller()
    before_nusd = site.balance_nusd(caller)
    keys = [f"key-{number}" for number in range(KEYS)]
    wanted = [keys[(n + m) % KEYS] for n in range(CONNECTIONS) for m in range(AHEAD)]
    bodies: dict[str, set[bytes]] = defaultdict(set)
    ids: dict[str, set[str]] = defaultdict(set)
    met_running = 0
    witness.expected_calls = KEYS

    with ExitStack() as stack:
        lines = [stack.enter_context(Line(site.gateway.port)) for _ in range(CONNECTIONS)]
        while wanted:
            shares = [wanted[n::CONNECTIONS] for n in range(CONNECTIONS)]
            for line, share in zip(lines, shares, strict=True):
                line.send(b"".join(calls_of(caller, key) for key in share))
            wanted = []
            for line, share in zip(lines, shares, strict=True):
                answers = line.listen(answers=len(share), within_s=120).answers
                for key, answer in zip(share, answers, strict=True):
                    if answer.status == 409:
                        assert_refused(answer, 409, "conflict")
                        wanted.append(key)
                        met_running += 1
                    else:
                        assert answer.status == 200, answer.body
                        bodies[key].add(answer.body)
                        ids[key].add(answer.call_id)

    assert met_running > 0
    assert {key: len(found) for key, found in bodies.items()} == dict.fromkeys(keys, 1)
    assert {key: len(found) for key, found in ids.items()} == dict.fromkeys(keys, 1)
    paid = charges(site, caller, count=KEYS)
    assert len(paid) == KEYS
    assert all(paid)
    assert wait_until(lambda: before_nusd - site.balance_nusd(caller) == sum(paid), what="charges")
