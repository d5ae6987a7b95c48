"""Stored responses: read, deleted, and gone on from."""

from __future__ import annotations

import json
from typing import Any

import pytest
from openai.types.responses import Response, ResponseItemList

from tests.flows.caller import Answer, Caller
from tests.flows.responses.asking import LOOK_UP, respond, response_of
from tests.flows.site import Site

each_way = pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])


@pytest.fixture
def keeper(site: Site, caller: Caller) -> Caller:
    """A caller whose workspace stores bodies."""
    site.office.do("store_bodies", workspace_id=caller.workspace_id)
    return caller


def get(caller: Caller, path: str, method: str = "GET") -> Answer:
    return caller.ask(path=f"/v1/responses/{path}", method=method, raw=b"")


def messages_of(answer: Answer) -> list[dict[str, Any]]:
    """Return the messages that reached the provider of a call scripted `echo`."""
    echoed = json.loads(response_of(answer).output_text)
    messages: list[dict[str, Any]] = json.loads(echoed["body_text"])["messages"]
    return messages


def go_on(caller: Caller, response_id: str, given: Any = "script:echo", **members: Any) -> Answer:
    return respond(caller, given, previous_response_id=response_id, **members)


@each_way
def test_a_stored_response_is_read_as_it_was(keeper: Caller, stream: bool) -> None:
    answer = respond(keeper, "script:tokens=3&reasoning=2", stream=stream)
    made = response_of(answer)

    read = get(keeper, made.id)

    assert made.model_dump()["store"] is True
    assert read.status == 200
    assert Response.model_validate(read.json) == made
    assert read.headers["cache-control"] == "no-store"


def test_a_long_stream_is_stored_too(keeper: Caller) -> None:
    """Its events are many times as long as what they say."""
    answer = respond(keeper, "script:tokens=6000", stream=True)

    assert len(answer.body) > 1024 * 1024
    assert get(keeper, response_of(answer).id).json["output"] == [
        item.model_dump(exclude_unset=True) for item in response_of(answer).output
    ]


def test_nothing_is_stored_where_bodies_are_not(caller: Caller) -> None:
    made = response_of(respond(caller))

    assert made.model_dump()["store"] is False
    read = get(caller, made.id)
    assert read.status == 404
    assert "Request logging" in read.error["message"]
    refused = go_on(caller, made.id)
    assert (refused.status, refused.error["param"]) == (400, "previous_response_id")
    assert "Request logging" in refused.error["message"]


def test_store_false_keeps_a_response_from_being_read(keeper: Caller) -> None:
    made = response_of(respond(keeper, store=False))

    assert get(keeper, made.id).status == 404
    refused = go_on(keeper, made.id)
    assert (refused.status, refused.error["param"]) == (400, "previous_response_id")
    assert "store: false" in refused.error["message"]


@each_way
def test_a_conversation_goes_on(keeper: Caller, stream: bool) -> None:
    first = respond(keeper, "script:text=One", instructions="Be short.", stream=stream)
    given = [{"role": "user", "content": "script:text=Two"}]
    second = go_on(keeper, response_of(first).id, given, instructions="Be long.", stream=stream)

    third = go_on(keeper, response_of(second).id, instructions="Be kind.")

    assert response_of(third).previous_response_id == response_of(second).id
    said = [(message["role"], message["content"]) for message in messages_of(third)]
    assert said == [
        ("system", "Be kind."),
        ("user", "script:text=One"),
        ("assistant", [{"type": "text", "text": "One"}]),
        ("user", "script:text=Two"),
        ("assistant", [{"type": "text", "text": "Two"}]),
        ("user", "script:echo"),
    ]


def test_results_of_tools_go_on_from_their_calls(keeper: Caller) -> None:
    first = respond(keeper, "script:tools=1&reasoning=2", tools=[LOOK_UP])
    result = {"type": "function_call_output", "call_id": "call_0", "output": "rain"}

    second = go_on(
        keeper,
        response_of(first).id,
        [result, {"role": "user", "content": "script:echo"}],
        tools=[LOOK_UP],
    )

    messages = messages_of(second)
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "user"]
    assert messages[1]["tool_calls"][0]["id"] == "call_0"
    assert messages[1]["reasoning"]


def test_items_are_named_by_their_ids(keeper: Caller) -> None:
    """As the AI SDK of Vercel does unless it is told not to."""
    first = response_of(respond(keeper, "script:text=One&reasoning=2"))
    refers = [{"type": "item_reference", "id": item.id} for item in first.output]
    given = [
        {"role": "user", "content": "script:text=One"},
        *refers,
        {"role": "user", "content": "script:text=Two"},
    ]
    second = response_of(respond(keeper, given))

    third = go_on(keeper, second.id)

    texts = [message["content"] for message in messages_of(third) if message["role"] != "user"]
    assert texts == [[{"type": "text", "text": "One"}], [{"type": "text", "text": "Two"}]]


def test_an_item_that_is_not_stored(keeper: Caller) -> None:
    for name in ("msg_1", f"msg_{'0' * 32}_0"):
        refused = respond(keeper, [{"type": "item_reference", "id": name}])

        assert (refused.status, refused.error["param"]) == (400, "input[0].id")
        assert name in refused.error["message"]


def test_a_deleted_response_is_gone(site: Site, keeper: Caller) -> None:
    made = response_of(respond(keeper))

    deleted = get(keeper, made.id, "DELETE")

    assert deleted.json == {"id": made.id, "object": "response", "deleted": True}
    assert get(keeper, made.id).status == 404
    assert get(keeper, made.id, "DELETE").status == 404
    assert go_on(keeper, made.id).status == 400
    call_id = made.id.removeprefix("resp_")
    assert site.office.do("body", call_id=call_id) is None
    assert site.record(call_id)["status"] == "ok"


def test_input_items(keeper: Caller) -> None:
    given = [
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": [{"type": "output_text", "text": "two"}]},
        {"type": "message", "role": "user", "content": "three", "id": "msg_mine"},
    ]
    made = response_of(respond(keeper, given))

    whole = get(keeper, f"{made.id}/input_items")
    first = get(keeper, f"{made.id}/input_items?order=asc&limit=2")
    rest = get(keeper, f"{made.id}/input_items?order=asc&after={first.json['last_id']}")

    listed = ResponseItemList.model_validate(whole.json)
    assert listed.data[0].id == "msg_mine"
    assert len(listed.data) == 3
    assert (first.json["has_more"], rest.json["has_more"]) == (True, False)
    assert [*first.json["data"], *rest.json["data"]] == whole.json["data"][::-1]


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("limit=x", "limit"),
        ("limit=1&limit=2", "limit"),
        ("order=up", "order"),
        ("after=nothing", "after"),
    ],
)
def test_a_page_that_is_none(keeper: Caller, query: str, param: str) -> None:
    made = response_of(respond(keeper))

    refused = get(keeper, f"{made.id}/input_items?{query}")

    assert (refused.status, refused.error["param"]) == (400, param)


def test_a_text_is_one_input_item(keeper: Caller) -> None:
    made = response_of(respond(keeper, "hello"))

    [item] = get(keeper, f"{made.id}/input_items").json["data"]

    assert item["content"] == [{"type": "input_text", "text": "hello"}]


def test_others_do_not_read_it(site: Site, keeper: Caller) -> None:
    made = response_of(respond(keeper))
    colleague = site.another_key(keeper.workspace_id)
    auditor = site.another_key(keeper.workspace_id, scopes=["completions", "usage.workspace"])
    stranger = site.caller()
    site.office.do("store_bodies", workspace_id=stranger.workspace_id)

    for other in (colleague, stranger):
        assert get(other, made.id).status == 404
        assert get(other, f"{made.id}/input_items").status == 404
        assert get(other, made.id, "DELETE").status == 404
        assert go_on(other, made.id).status == 400
    assert get(auditor, made.id).status == 200
    assert response_of(go_on(auditor, made.id, "script:text=Yes")).output_text == "Yes"


def test_other_calls_are_no_responses(keeper: Caller) -> None:
    chat = keeper.ask()

    assert get(keeper, f"resp_{chat.call_id}").status == 404
    assert get(keeper, "resp_nonsense").status == 404


def test_a_response_that_failed_is_not_stored(keeper: Caller) -> None:
    answer = respond(keeper, "script:tokens=5&reset_after=2", stream=True)

    assert get(keeper, f"resp_{answer.call_id}").status == 404


def test_a_callers_own_id_names_the_response(keeper: Caller) -> None:
    own = "0f8fad5b-d9cb-469f-a165-70867728950e"
    made = response_of(respond(keeper, "script:text=One", headers={"x-request-id": own}))

    assert made.id == f"resp_{own}"
    assert get(keeper, made.id).status == 200
    assert len(messages_of(go_on(keeper, made.id))) == 3
    reference = {"type": "item_reference", "id": made.output[0].id}
    assert response_of(respond(keeper, [reference])).status == "completed"


def test_methods_that_are_not_there(keeper: Caller) -> None:
    answer = get(keeper, "resp_1", "PUT")

    assert (answer.status, answer.headers["allow"]) == (405, "GET, DELETE, HEAD, OPTIONS")


def test_a_key_without_the_scope(site: Site) -> None:
    reader = site.caller(scopes=["usage"])

    assert get(reader, "resp_1").status == 403
