"""What holds for all of them: answers, refusals, faults of providers, money, records."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.flows.caller import Caller
from tests.flows.plain.asking import OPERATIONS, add_priced, ask, ask_scripted
from tests.flows.site import NUSD_PER_USD, Site

every_operation = pytest.mark.parametrize("operation", OPERATIONS)


@every_operation
@pytest.mark.parametrize("mount", ["/v1", "/api/v1", "/openai/v1", "/compat/bud/v1"])
def test_every_mount_has_the_endpoint(caller: Caller, operation: str, mount: str) -> None:
    answer = ask(caller, operation, mount=mount)

    assert answer.status == 200, answer.body
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-model-used"] == "all-units"
    assert answer.json[OPERATIONS[operation].data]


@every_operation
def test_the_record_names_the_endpoint_and_the_charge(
    site: Site, caller: Caller, operation: str
) -> None:
    answer = ask(caller, operation)
    record = site.record(answer.call_id)

    shown = caller.ask(method="GET", path=f"/v1/generation?id={answer.call_id}", raw=b"").json
    assert shown["data"]["ingress_format"] == operation
    assert shown["data"]["cost_nano_usd"] == str(record["charge_nusd"])
    assert answer.json["usage"]["cost"] == record["charge_nusd"] / NUSD_PER_USD


@every_operation
def test_the_simulated_model_answers(caller: Caller, operation: str) -> None:
    answer = ask(caller.with_(model="tollhouse/simulated"), operation)

    assert answer.status == 200, answer.body
    assert answer.json[OPERATIONS[operation].data]


@every_operation
def test_a_repeated_key_gets_the_same_answer_for_nothing(
    site: Site, caller: Caller, operation: str
) -> None:
    headers = {"idempotency-key": "once"}

    first = ask(caller, operation, headers=headers)
    again = ask(caller, operation, headers=headers)

    assert (first.status, again.body) == (200, first.body)
    charge_nusd = site.record(first.call_id)["charge_nusd"]
    assert site.balance_nusd(caller) == NUSD_PER_USD - charge_nusd


@every_operation
def test_a_fallback_model_serves_when_the_provider_fails(
    site: Site, caller: Caller, operation: str
) -> None:
    answer = ask_scripted(caller, operation, "fail=503", models=["tollhouse/simulated"])

    assert answer.status == 200, answer.body
    assert answer.headers["x-fallback-from"] == "all-units"


@every_operation
def test_a_provider_without_the_operation_is_not_asked(
    site: Site, caller: Caller, operation: str
) -> None:
    for kind in ("anthropic", "deepseek"):
        name = f"{kind}-without-{operation}"
        address = f"{site.upstream.origin}/{kind}/v1"
        site.office.do("provider", name=name, kind=kind, base_url=address, credential="sk-x")
        model = site.add_model(name, provider=name)

        answer = ask(caller.with_(model=model), operation)

        assert (answer.status, answer.error["param"]) == (400, "model")
        assert answer.error["code"] == "endpoint_not_supported_by_model"
        assert site.tries(answer.call_id) == []


@every_operation
def test_a_model_for_one_operation_is_asked_for_no_other(
    site: Site, caller: Caller, operation: str
) -> None:
    alone = caller.with_(model=add_priced(site, f"{operation}-alone", operation=operation))
    talker = caller.with_(model=site.add_model(f"no-{operation}", operation="chat"))

    assert ask(alone, operation).status == 200
    for refused in (alone.ask("hello"), ask(talker, operation)):
        assert refused.error["code"] == "endpoint_not_supported_by_model"


@every_operation
@pytest.mark.parametrize("members", [{"stream": True}, {"inferada": {"processors": ["redact"]}}])
def test_what_has_no_place_there_is_refused(
    caller: Caller, operation: str, members: dict[str, Any]
) -> None:
    answer = ask(caller, operation, **members)

    assert (answer.status, answer.error["param"]) == (400, *members)
    assert answer.error["code"] == "unsupported_parameter"


@every_operation
@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"null", b'{"model":"all-units"}'])
def test_what_is_no_request_is_the_callers_fault(
    site: Site, caller: Caller, operation: str, raw: bytes
) -> None:
    answer = caller.ask(path=f"/v1/{OPERATIONS[operation].path}", raw=raw)

    assert answer.status == 400
    assert answer.error["message"]
    assert site.records(caller)[0]["charge_nusd"] == 0


@every_operation
@pytest.mark.parametrize(("status", "told"), [(400, 400), (401, 502), (429, 429), (500, 502)])
def test_a_providers_refusal_is_told_as_for_chat(
    site: Site, caller: Caller, operation: str, status: int, told: int
) -> None:
    answer = ask_scripted(caller, operation, f"fail={status}&message=No")

    assert answer.status == told
    assert site.record(answer.call_id)["charge_nusd"] == 0


FAULTS = (
    *("answers=fewer", "answers=more", "answers=raw:[]", "answers=raw:7", "answers=raw:[7]"),
    *("answers=raw:[{}]", "answers=raw:null", "answers=raw:[null]", "truncate", "drop=close"),
    *("reset_at_byte=20", 'answers=raw:["a"]', 'answers=raw:[{"index":true}]', "answers=twice"),
)
# What is a good answer to some: fewer images than were asked for, any object for a moderation,
# more results than were asked for of a ranking.
GOOD = {
    ("images", "answers=fewer"): {"n": 3},
    ("moderations", "answers=raw:[{}]"): {},
    ("moderations", 'answers=raw:[{"index":true}]'): {},
    ("moderations", "answers=twice"): {},
    ("images", "answers=twice"): {},
}


@every_operation
@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_no_answer_is_the_providers_fault_and_free(
    site: Site, caller: Caller, operation: str, fault: str
) -> None:
    members = GOOD.get((operation, fault))

    answer = ask_scripted(caller, operation, fault, **(members or {}))

    if members is not None:
        assert answer.status == 200
        return
    assert (answer.status, answer.error["code"]) == (502, "provider_unavailable"), answer.body
    record = site.record(answer.call_id)
    assert (record["charge_nusd"], record["charge_basis"]) == (0, "zero_upstream")


@every_operation
def test_a_call_that_the_balance_does_not_cover_is_refused(
    site: Site, priced: str, operation: str
) -> None:
    poor = site.caller(credit_nusd=1).with_(model=priced)

    answer = ask(poor, operation)

    assert (answer.status, answer.error["code"]) == (402, "insufficient_credits")
    assert site.tries(answer.call_id) == []


@every_operation
def test_a_caller_who_leaves_pays_for_what_was_asked(
    site: Site, caller: Caller, operation: str
) -> None:
    one = OPERATIONS[operation]
    body = {"model": caller.model, **one.body, one.first: "script:hang"}
    live = caller.begin(path=f"/v1/{one.path}", raw=json.dumps(body).encode())
    running = site.running(caller, count=1)[0]
    site.wait_for_try(str(running["id"]), state="running")

    live.leave()

    record = site.record(str(running["id"]))
    assert (record["status"], record["charge_basis"]) == ("cancelled", "estimate")
    assert record["charge_nusd"] > 0


@every_operation
def test_a_key_needs_the_scope_of_calls(site: Site, priced: str, operation: str) -> None:
    answer = ask(site.caller(scopes=["usage"]).with_(model=priced), operation)

    assert (answer.status, answer.error["code"]) == (403, "insufficient_scope")


def test_nothing_is_logged_as_our_fault(site: Site) -> None:
    assert "Traceback" not in site.gateway.log.read_text()
