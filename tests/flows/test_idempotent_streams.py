"""Streams under an Idempotency-Key whose callers leave: read to the end, kept, charged once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.flows.caller import Answer, Caller, LiveCall
from tests.flows.site import OUTPUT_NUSD, Site
from tests.flows.test_slow_reader import open_unread
from tests.support.waiting import wait_until

NAMED = {"idempotency-key": "once"}
REPLAYED = "idempotent-replayed"
TOKENS = 5
# Where the provider falls silent until the caller has left, by how many tokens are out.
WHERE = {"before the first token": -1, "in the middle": 2, "after the last token": TOKENS}
HOW: dict[str, Callable[[LiveCall], None]] = {"FIN": LiveCall.leave, "RST": LiveCall.reset}


def ask_until_served(caller: Caller, prompt: str, **members: Any) -> Answer:
    """Return the answer once the call under the key is not running any more."""

    def ask() -> Answer | None:
        answer = caller.stream(prompt, headers=NAMED, **members)
        return None if answer.status == 409 else answer

    answer = wait_until(ask, what="the answer")
    assert answer is not None
    return answer


@pytest.mark.parametrize("leave", HOW.values(), ids=HOW)
@pytest.mark.parametrize("stall_after", WHERE.values(), ids=WHERE)
def test_a_caller_that_leaves_finds_its_answer_and_is_charged_once(
    site: Site, caller: Caller, stall_after: int, leave: Callable[[LiveCall], None]
) -> None:
    prompt = f"script:tokens={TOKENS}&gate={caller.key_id}&stall_after={stall_after}"
    call = caller.begin(prompt, headers=NAMED, stream=True)
    [running] = site.running(caller, count=1)
    site.wait_for_try(running["id"], state="running")
    if stall_after > 0:
        call.wait_for_tokens(stall_after)

    leave(call)
    beside = caller.stream(prompt, headers=NAMED)
    site.upstream.open_gate(caller.key_id)
    again = ask_until_served(caller, prompt)

    assert (beside.status, beside.error["code"]) == (409, "conflict")
    assert beside.headers["retry-after"] == "1"
    assert (again.status, again.headers[REPLAYED]) == (200, "true")
    assert again.text.split() == [f"tok{n}" for n in range(TOKENS)]
    assert again.frames[-1] == "data: [DONE]"
    assert again.call_id == running["id"]
    record = site.record(running["id"])
    assert [r["id"] for r in site.records(caller) if r["status"] != "refused"] == [running["id"]]
    assert (record["status"], record["charge_basis"]) == ("ok", "usage")
    assert record["charge_nusd"] > TOKENS * OUTPUT_NUSD
    assert len(site.tries(call_id=running["id"])) == 1


def test_a_caller_that_does_not_read_finds_its_answer(site: Site) -> None:
    model = site.add_model("long-model-2", max_output_tokens=1_000_000)
    caller = site.caller(credit_nusd=10**12).with_(model=model)
    prompt = "script:tokens=3000&token_bytes=2000"

    with open_unread(caller, prompt, "idempotency-key: once\r\n"):
        site.running(caller, count=1)
        answer = ask_until_served(caller, prompt)

    assert (answer.status, answer.headers[REPLAYED]) == (200, "true")
    assert len(answer.body) > 3000 * 2000
    assert site.record(answer.call_id)["status"] == "ok"


def test_what_was_charged_for_a_stream_that_was_cut_is_not_charged_again(site: Site) -> None:
    caller = site.caller()
    other = site.another_key(caller.workspace_id)
    prompt = "script:endless&delay_ms=5"
    with caller.begin(prompt, headers=NAMED, stream=True, max_tokens=5_000) as live:
        live.wait_for_tokens(3)
        site.office.do("revoke", key_id=caller.key_id)
        cut = live.answer()
    record = site.record(cut.call_id)

    again = other.stream(prompt, headers=NAMED, max_tokens=5_000)

    assert record["status"] == "partial"
    assert record["charge_nusd"] > 0
    assert again.headers[REPLAYED] == "true"
    assert again.body.endswith(cut.body)
    assert site.office.do("records", key_id=other.key_id) == []
