"""POST /responses/input_tokens: counted here, for nothing."""

from __future__ import annotations

from typing import Any

import pytest
from openai import OpenAI

from tests.flows.caller import Answer, Caller
from tests.flows.responses.asking import LOOK_UP, respond, response_of
from tests.flows.site import NUSD_PER_USD, Site

COUNT = "/v1/responses/input_tokens"


def count(caller: Caller, given: Any = "Say hello to everybody.", **members: Any) -> Answer:
    return respond(caller, given, path=COUNT, **members)


def tokens(caller: Caller, *given: Any, **members: Any) -> int:
    answer = count(caller, *given, **members)
    assert answer.status == 200, answer.body
    assert answer.json == {
        "input_tokens": answer.json["input_tokens"],
        "object": "response.input_tokens",
    }
    return int(answer.json["input_tokens"])


def test_everything_that_a_model_reads_counts(caller: Caller) -> None:
    least = tokens(caller)

    assert 5 <= least <= 20
    assert tokens(caller, instructions="Be brief.") > least
    assert tokens(caller, tools=[LOOK_UP]) > least + 10
    assert tokens(caller, stream=True) == least


def test_a_stored_conversation_counts(site: Site, caller: Caller) -> None:
    site.office.do("store_bodies", workspace_id=caller.workspace_id)
    made = response_of(respond(caller, "script:tokens=40"))

    assert tokens(caller, previous_response_id=made.id) > tokens(caller) + 40
    missing = count(caller, previous_response_id="resp_nothing")
    assert (missing.status, missing.error["param"]) == (400, "previous_response_id")


def test_nothing_is_charged_or_recorded(site: Site, caller: Caller) -> None:
    tokens(caller)

    assert respond(caller, "script:tokens=1").status == 200
    assert len(site.records(caller)) == 1
    assert site.balance_nusd(caller) < NUSD_PER_USD


@pytest.mark.parametrize(
    ("members", "status"), [({"input": []}, 400), ({"input": 5}, 400), ({"model": "nobody"}, 404)]
)
def test_what_is_refused(caller: Caller, members: dict[str, Any], status: int) -> None:
    assert count(caller, members.pop("input", "Hello"), **members).status == status


def test_only_a_post_counts(caller: Caller) -> None:
    answer = caller.ask(path=COUNT, method="GET", raw=b"")

    assert (answer.status, answer.headers["allow"]) == (405, "POST")


def test_the_sdk_counts(caller: Caller) -> None:
    client = OpenAI(base_url=f"http://127.0.0.1:{caller.port}/v1", api_key=caller.secret)

    found = client.responses.input_tokens.count(model=caller.model, input="Hello")

    assert found.input_tokens > 0
