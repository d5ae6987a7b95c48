"""The loop of server tools: rounds, caps, failures, hang-ups, and the money of each."""

from __future__ import annotations

from itertools import product

import pytest

from tests.flows.caller import Caller
from tests.flows.site import Site
from tests.flows.tools.asking import (
    CLAUDE,
    FETCH,
    FETCH_NUSD,
    GEMINI,
    MODELS,
    SEARCH,
    SEARCH_NUSD,
    annotations_of,
    ask,
    reason_of,
    script,
    statuses,
    tool_events,
    upstream_nusd,
)
from tests.support.web_pages import WebPages

BOTH = pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
# 9: more than there may be. Then the last round has no tools.
ROUNDS = [
    *product(MODELS, (0, 2, 9), (False, True)),
    *product((MODELS[0],), (1, 7), (False, True)),
]


@pytest.mark.parametrize(("model", "rounds", "stream"), ROUNDS)
def test_every_round_is_charged_as_the_provider_counts_it(
    tools_site: Site, caller: Caller, model: str, rounds: int, stream: bool
) -> None:
    answer = ask(caller, script(rounds=rounds), model=model, stream=stream)

    assert (answer.status, answer.text) == (200, "".join(f"tok{n} " for n in range(10)))
    assert reason_of(answer) == "stop"
    record = tools_site.record(answer.call_id)
    runs = min(rounds, 7)
    assert [one["round"] for one in record["attempts"]] == [*range(1, runs + 2)]
    assert statuses(record) == ["ok"] * runs
    assert len(tools_site.tries(answer.call_id)) == runs + 1
    assert record["charge_basis"] == "usage"
    assert record["charge_nusd"] == upstream_nusd(tools_site, answer.call_id) + runs * SEARCH_NUSD
    assert len(annotations_of(answer)) == min(rounds, 1)


@BOTH
def test_tools_run_together_and_their_events_are_told(
    tools_site: Site, caller: Caller, stream: bool
) -> None:
    answer = ask(caller, script(tools=6), SEARCH | {"events": True}, stream=stream)

    events = tool_events(answer)
    assert sorted(event["type"] for event in events) == ["tool_result"] * 6 + ["tool_start"] * 6
    assert [event["seq"] for event in events] == [*range(1, 13)]
    assert {event["call_id"] for event in events} == {f"call_{n}" for n in range(6)}
    ended = [event for event in events if event["type"] == "tool_result"]
    assert {event["cost_micro_usd"] for event in ended} == {"4000"}
    assert {event["preview"] for event in ended} == {"Weather"}
    assert events[0]["arguments"] == {"query": "weather"}
    if stream:
        assert answer.chunks[0]["choices"][0]["delta"]["role"] == "assistant"
    record = tools_site.record(answer.call_id)
    assert record["charge_nusd"] == upstream_nusd(tools_site, answer.call_id) + 6 * SEARCH_NUSD
    assert {tuple(run["arguments"]) for run in record["tool_runs"]} == {("query",)}


@BOTH
@pytest.mark.parametrize("model", MODELS)
def test_a_turn_that_mixes_tools_keeps_those_of_the_gateway(
    tools_site: Site, caller: Caller, model: str, stream: bool
) -> None:
    own = {"name": "own", "parameters": {"type": "object", "properties": {}}}
    tools = [{"type": "function", "function": own}]

    # Of each turn the first call is the caller's own, the second one the gateway's.
    answer = ask(
        caller, script(tools=2), model=model, stream=stream, tools=tools, hi_tool_events=True
    )
    alone = ask(caller, script(tools=1), model=model, stream=stream, tools=tools)

    assert (answer.status, reason_of(answer)) == (200, "stop")
    assert [event["plugin"] for event in tool_events(answer)] == ["web_search"] * 2
    assert b'"own"' not in answer.body
    assert reason_of(alone) == "tool_calls"
    assert (b'"own"' in alone.body, b"hi_web_search" in alone.body) == (True, False)
    assert statuses(tools_site.record(alone.call_id)) == []


@BOTH
def test_what_fails_is_told_to_the_model_and_costs_nothing(
    tools_site: Site, caller: Caller, stream: bool
) -> None:
    wrong = ask(caller, script({"q": 1}), stream=stream, hi_tool_events=True)
    broken = ask(caller, script("[1"), stream=stream)
    unreachable = ask(
        caller, script({"url": "http://127.0.0.1:1/"}), FETCH, stream=stream, hi_tool_events=True
    )
    private = ask(caller, script({"url": "http://10.0.0.1/"}), FETCH, stream=stream)

    answers = (wrong, broken, unreachable, private)
    assert [answer.status for answer in answers] == [200] * 4
    records = [tools_site.record(answer.call_id) for answer in answers]
    assert [statuses(record) for record in records] == [
        *(["failed"], ["refused"], ["failed"], ["failed"])
    ]
    for answer, record in zip(answers, records, strict=True):
        assert record["charge_nusd"] == upstream_nusd(tools_site, answer.call_id)
    assert [event["type"] for event in tool_events(wrong)] == ["tool_start", "tool_error"]


def test_no_more_than_five_pages_are_fetched_in_a_call(
    tools_site: Site, caller: Caller, pages: WebPages
) -> None:
    before = len(pages.asked)

    answer = ask(caller, script({"url": pages.url("page")}, tools=7), FETCH)

    record = tools_site.record(answer.call_id)
    assert sorted(statuses(record)) == ["ok"] * 5 + ["refused"] * 2
    assert len(pages.asked) - before == 5
    assert record["charge_nusd"] == upstream_nusd(tools_site, answer.call_id) + 5 * FETCH_NUSD


@BOTH
@pytest.mark.parametrize("model", ["fake-model", CLAUDE, GEMINI])
def test_a_caller_that_leaves_while_a_tool_runs_pays_the_rounds_before(
    tools_site: Site, caller: Caller, pages: WebPages, model: str, stream: bool
) -> None:
    pages.reached.clear()
    pages.gate.clear()
    prompt = script({"url": pages.url("slow")})

    with caller.begin(prompt, plugins=[FETCH], model=model, stream=stream) as live:
        assert pages.reached.wait(60)
        live.leave()
    [record] = tools_site.records(caller)
    pages.gate.set()

    assert (record["status"], record["charge_basis"]) == ("cancelled", "usage")
    assert statuses(record) == ["cancelled"]
    assert record["charge_nusd"] == upstream_nusd(tools_site, str(record["id"]))


def test_a_caller_that_leaves_in_a_later_round_pays_what_was_made(
    tools_site: Site, caller: Caller
) -> None:
    prompt = script(endless=1, delay_ms=5)

    with caller.begin(prompt, plugins=[SEARCH], stream=True) as live:
        live.wait_for_tokens(3)
        live.leave()
    [record] = tools_site.records(caller)

    assert (record["status"], record["charge_basis"]) == ("cancelled", "estimate")
    first, last = tools_site.tries(str(record["id"]))
    first_nusd = first["prompt_tokens"] * 1_000 + first["completion_tokens"] * 2_000
    assert first_nusd + SEARCH_NUSD < record["charge_nusd"]
    assert record["completion_tokens"] >= first["completion_tokens"] + 3
    assert last["state"] == "cancelled"


def test_what_a_provider_fails_in_a_later_round_costs_nothing(
    tools_site: Site, caller: Caller
) -> None:
    answer = ask(caller, script({"query": "w"}, tokens=20, truncate_after=12), stream=True)

    record = tools_site.record(answer.call_id)
    assert (record["status"], record["charge_nusd"]) == ("upstream_error", 0)
    assert [(one["round"], one["code"] == "") for one in record["attempts"]] == [
        *((1, True), (2, False))
    ]
    assert record["absorbed_nusd"] > SEARCH_NUSD
