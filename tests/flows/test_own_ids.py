"""A caller's UUID becomes the id of its call, once in a workspace; anything else is only kept."""

from __future__ import annotations

import json
import uuid

import pytest

from tests.flows.caller import Answer, Caller
from tests.flows.site import Site
from tests.support.waiting import wait_until


@pytest.fixture
def wanted() -> str:
    return str(uuid.uuid4())


def generation(caller: Caller, name: str) -> Answer:
    """Return what /generation says of a call by this name, once it says anything."""
    path = f"/v1/generation?id={name}"

    def find() -> Answer | None:
        answer = caller.ask(path=path, method="GET")
        return answer if answer.status == 200 else None

    found = wait_until(find, what=f"the record of {name}")
    assert found is not None
    return found


def asked_as(caller: Caller, name: str, *, prompt: str = "hello there") -> Answer:
    return caller.ask(prompt, headers={"x-request-id": name})


def test_a_fresh_uuid_is_the_id_of_the_call(site: Site, caller: Caller, wanted: str) -> None:
    answer = asked_as(caller, wanted, prompt="script:echo")

    [record] = site.records(caller)
    assert answer.headers["x-request-id"] == wanted
    assert answer.json["id"] == answer.headers["x-generation-id"] == f"chatcmpl-{wanted}"
    assert "x-client-request-id" not in answer.headers
    # To us and to the provider the call has an id that sorts by time.
    assert uuid.UUID(record["id"]).version == 7
    assert wanted not in str(answer.echo)


@pytest.mark.parametrize("spelling", ["{}", "chatcmpl-{}", "gen-{}"])
def test_its_record_is_found_by_it(caller: Caller, wanted: str, spelling: str) -> None:
    asked_as(caller, wanted)

    said = generation(caller, spelling.format(wanted)).json["data"]

    assert (said["id"], said["client_request_id"], said["state"]) == (wanted, wanted, "ok")


def test_every_chunk_of_a_stream_has_it(caller: Caller, wanted: str) -> None:
    answer = caller.stream("one two three", headers={"x-request-id": wanted})

    assert {chunk["id"] for chunk in answer.chunks} == {f"chatcmpl-{wanted}"}


def test_a_profile_puts_its_own_prefix_before_it(caller: Caller, wanted: str) -> None:
    headers = {"x-request-id": wanted, "x-compat-profile": "bud"}

    assert caller.ask(headers=headers).json["id"] == wanted


def test_it_is_good_once_in_a_workspace(site: Site, caller: Caller, wanted: str) -> None:
    asked_as(caller, wanted)
    site.records(caller)

    again = asked_as(caller, wanted)
    sibling = asked_as(site.another_key(caller.workspace_id), wanted)
    elsewhere = asked_as(site.caller(), wanted)

    for answer in (again, sibling):
        assert answer.headers["x-request-id"] != wanted
        assert answer.headers["x-client-request-id"] == wanted
    assert elsewhere.headers["x-request-id"] == wanted


def test_the_id_of_another_call_cannot_be_had(site: Site, caller: Caller) -> None:
    first = caller.ask().call_id
    site.records(caller)

    answer = asked_as(caller, first)

    assert answer.call_id != first
    assert generation(caller, first).json["data"]["client_request_id"] is None


def test_a_call_that_fails_is_known_by_it_too(caller: Caller, wanted: str) -> None:
    answer = asked_as(caller, wanted, prompt="script:fail=500")

    assert answer.status >= 500
    assert answer.headers["x-request-id"] == answer.error["request_id"] == wanted


@pytest.mark.parametrize("model", ["fake-model", "gpt-999"])
def test_who_is_not_let_in_has_our_id_and_reads_its_own(
    site: Site, wanted: str, model: str
) -> None:
    secret = {} if model == "gpt-999" else {"secret": "nobody's"}
    caller = site.caller().with_(model=model, **secret)

    answer = asked_as(caller, wanted)

    assert answer.status in (401, 404)
    assert answer.headers["x-request-id"] == answer.error["request_id"] != wanted
    assert answer.headers["x-client-request-id"] == wanted


@pytest.mark.parametrize(
    "name",
    [
        "mine-1",
        "00000000-0000-0000-0000-000000000000",
        "575373ada01d493c9ce6fcf7d3ccee57",
        "{7541f046-b6fa-4630-91cd-de65ddc55d5",
    ],
)
def test_what_is_no_uuid_is_only_kept(caller: Caller, name: str) -> None:
    answer = asked_as(caller, name)

    assert answer.status == 200
    assert uuid.UUID(answer.call_id).version == 7


def test_whoever_brings_two_ids_keeps_the_one_for_tracking(caller: Caller, wanted: str) -> None:
    answer = caller.ask(headers={"x-request-id": wanted, "x-client-request-id": "job-17"})

    assert answer.headers["x-request-id"] != wanted
    assert answer.headers["x-client-request-id"] == "job-17"


def test_the_same_request_again_has_the_same_id(caller: Caller, wanted: str) -> None:
    headers = {"x-request-id": wanted, "idempotency-key": f"once-{wanted}"}

    answers = [caller.ask(headers=headers) for _ in range(2)]

    assert [answer.call_id for answer in answers] == [wanted, wanted]
    assert json.loads(answers[0].body) == json.loads(answers[1].body)
