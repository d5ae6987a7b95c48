"""Batches: created over the API, worked off by the background worker, with results in files."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest

from tests.flows.batches.asking import (
    CHAT,
    batch_caller,
    cancel,
    chat,
    create,
    created,
    ended,
    find,
    look,
    results,
    upload_lines,
)
from tests.flows.caller import Caller
from tests.flows.site import INPUT_NUSD, OUTPUT_NUSD, Site
from tests.flows.stored_files.asking import delete
from tests.support.waiting import wait_until


def test_each_line_is_a_call_of_the_key_and_its_result_is_in_a_file(
    batch_site: Site, caller: Caller
) -> None:
    lines = [chat(f"good-{number}", "script:text=Hello") for number in range(5)]
    lines += [chat("no-model", "Hello", "nothing"), chat("no-number", "Hello", temperature=9)]

    batch = created(caller, lines, metadata={"job": "night"})
    assert (batch["status"], batch["object"]) == ("validating", "batch")
    done = ended(caller, batch["id"])

    assert (done["status"], done["metadata"]) == ("completed", {"job": "night"})
    assert done["request_counts"] == {"total": 7, "completed": 5, "failed": 2}
    moments = ("created_at", "in_progress_at", "finalizing_at", "completed_at", "expires_at")
    assert [done[name] for name in moments] == sorted(done[name] for name in moments)
    good = results(caller, done["output_file_id"])
    bad = results(caller, done["error_file_id"])
    assert set(good) == {f"good-{number}" for number in range(5)}
    for line in good.values():
        answer = line["response"]
        assert (answer["status_code"], line["error"]) == (200, None)
        assert answer["body"]["choices"][0]["message"]["content"] == "Hello"
        record = batch_site.record(answer["request_id"])
        assert record["client_request_id"].startswith(f"{batch['id']}:")
        usage = answer["body"]["usage"]
        charge = usage["prompt_tokens"] * INPUT_NUSD + usage["completion_tokens"] * OUTPUT_NUSD
        assert record["charge_nusd"] == charge
        assert record["streamed"] is False
    assert {name: line["response"]["status_code"] for name, line in bad.items()} == {
        "no-model": 404,
        "no-number": 400,
    }
    assert bad["no-number"]["response"]["body"]["error"]["param"] == "temperature"


OTHERS: dict[str, dict[str, Any]] = {
    "/v1/embeddings": {"model": "tollhouse/simulated", "input": "Hello"},
    "/v1/messages": {
        "model": "fake-model",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "script:text=Hi"}],
    },
    "/v1/responses": {"model": "fake-model", "input": "script:text=Hi"},
    "/v1/completions": {"model": "tollhouse/simulated", "prompt": "Hello"},
}


def test_batches_of_other_endpoints(caller: Caller) -> None:
    batches = {}
    for endpoint, body in OTHERS.items():
        line = {"custom_id": "a", "method": "POST", "url": endpoint, "body": body}
        batches[endpoint] = created(caller, [line], endpoint=endpoint)["id"]

    for endpoint, batch_id in batches.items():
        done = ended(caller, batch_id)
        assert done["request_counts"] == {"total": 1, "completed": 1, "failed": 0}, endpoint
        assert results(caller, done["output_file_id"])["a"]["response"]["status_code"] == 200


def test_a_file_with_lines_that_are_no_requests_fails_with_each_of_them(caller: Caller) -> None:
    lines = [
        chat("a", "Hello"),
        chat("a", "Hello"),
        chat("b", "Hello") | {"url": "/v1/embeddings"},
        chat("c", "Hello") | {"method": "GET"},
        chat("d", "Hello", stream=True),
        chat("", "Hello"),
    ]

    done = ended(caller, created(caller, lines)["id"])

    assert (done["status"], done["output_file_id"], done["error_file_id"]) == ("failed", None, None)
    assert [(each["line"], each["code"]) for each in done["errors"]["data"]] == [
        (2, "duplicate_custom_id"),
        (3, "mismatched_endpoint"),
        (4, "invalid_json_line"),
        (5, "invalid_request"),
        (6, "invalid_custom_id"),
    ]
    assert done["failed_at"] is not None


def test_what_does_not_fit_in_a_line_is_named_and_said_in_words(caller: Caller) -> None:
    good = chat("a", "Hello")
    lines = [
        {name: value for name, value in good.items() if name != "method"},
        good | {"custom_id": 5},
        good | {"custom_id": "b", "method": "GET"},
        good | {"custom_id": "c", "body": "Hello"},
        good | {"custom_id": "d", "body": {"messages": []}},
        good | {"custom_id": "e", "body": {"model": "fake-model", "stream": "yes"}},
    ]

    done = ended(caller, created(caller, lines)["id"])

    assert [(each["param"], each["message"]) for each in done["errors"]["data"]] == [
        ("method", "method is required."),
        ("custom_id", "custom_id must be a string, not an integer."),
        ("method", "method must be one of: POST."),
        ("body", "The body must be an object, not a string."),
        ("body.model", "body.model is required."),
        ("body.stream", "body.stream must be a boolean, not a string."),
    ]


def test_what_cannot_become_a_batch_is_refused(batch_site: Site, caller: Caller) -> None:
    file_id = upload_lines(caller, [chat("a", "Hello")])
    stranger = batch_caller(batch_site)
    no_files = batch_site.another_key(caller.workspace_id, scopes=["completions"])

    for asking, wanted, members, status, param in (
        (caller, "file_none", {}, 400, "input_file_id"),
        (stranger, file_id, {}, 400, "input_file_id"),
        (caller, file_id, {"endpoint": "/v1/audio/speech"}, 400, "endpoint"),
        (caller, file_id, {"completion_window": "1h"}, 400, "completion_window"),
        (caller, file_id, {"metadata": {"a": 1}}, 400, "metadata"),
        (no_files, file_id, {}, 403, None),
    ):
        answer = create(asking, wanted, **members)
        assert answer.status == status, answer.body
        assert str(answer.error.get("param")).startswith(str(param))
    batch = created(caller, [chat("a", "Hello")])
    for answer in (look(stranger, f"/{batch['id']}"), cancel(stranger, batch["id"])):
        assert answer.status == 404
    assert batch["id"] not in look(stranger).body.decode()


def test_the_same_idempotency_key_is_the_same_batch(caller: Caller) -> None:
    file_id = upload_lines(caller, [chat("a", "script:text=Hi")])
    headers = {"idempotency-key": "night-1"}

    first, again = (create(caller, file_id, headers=headers).json["id"] for _ in range(2))
    other = create(caller, file_id, headers=headers, metadata={"a": "b"})

    assert first == again
    assert other.status == 422


def test_the_sdk_of_openai_creates_lists_and_cancels(batch_site: Site, caller: Caller) -> None:
    gate = f"sdk-{caller.key_id}"
    lines = [chat(f"line-{number}", f"script:text=Hi&gate={gate}") for number in range(80)]
    content = "\n".join(map(json.dumps, lines)).encode()
    with openai.OpenAI(api_key=caller.secret, base_url=batch_site.gateway.base_url) as client:
        file = client.files.create(file=("in.jsonl", content), purpose="batch")
        batch = client.batches.create(
            input_file_id=file.id, endpoint=CHAT, completion_window="24h", metadata={"a": "b"}
        )
        wait_until(
            lambda: client.batches.retrieve(batch.id).status == "in_progress",
            what="the batch to begin",
        )
        batch_site.running(caller, count=1)
        cancelled = client.batches.cancel(batch.id)
        batch_site.upstream.open_gate(gate)
        ended(caller, batch.id)
        done = client.batches.retrieve(batch.id)
        assert [each.id for each in client.batches.list(limit=1)] == [batch.id]
        assert done.request_counts is not None
        assert done.output_file_id is not None
        assert done.error_file_id is not None
        good = client.files.content(done.output_file_id).text.splitlines()

    assert (cancelled.status, done.status) == ("cancelling", "cancelled")
    assert len(good) == done.request_counts.completed > 0
    bad = results(caller, done.error_file_id)
    assert {line["error"]["code"] for line in bad.values()} == {"batch_cancelled"}
    assert len(good) + len(bad) == 80


@pytest.mark.parametrize("reason", ["revoked", "locked", "spent"])
def test_a_key_that_may_not_go_on_ends_the_batch(batch_site: Site, reason: str) -> None:
    caller = batch_caller(batch_site, credit_nusd=2_000_000 if reason == "spent" else 10**9)
    gate = f"{reason}-{caller.key_id}"
    lines = [chat(str(number), f"script:tokens=100&gate={gate}") for number in range(100)]

    batch = created(caller, lines)
    batch_site.running(caller, count=1)
    if reason == "revoked":
        batch_site.office.do("revoke", key_id=caller.key_id)
    elif reason == "locked":
        batch_site.office.do("lock", workspace_id=caller.workspace_id)
    batch_site.upstream.open_gate(gate)
    looking = batch_site.another_key(caller.workspace_id, scopes=["completions", "files"])
    done = ended(looking, batch["id"])

    code = {
        "revoked": "invalid_api_key",
        "locked": "workspace_locked",
        "spent": "insufficient_credits",
    }[reason]
    assert done["status"] == "completed"
    assert code in [each["code"] for each in done["errors"]["data"]]
    good = results(looking, done["output_file_id"])
    bad = results(looking, done["error_file_id"])
    assert len(good) + len(bad) == 100
    assert len(bad) == done["request_counts"]["failed"] > 0
    assert {line["error"]["code"] for line in bad.values() if line["error"]} == {code}


@pytest.mark.parametrize("reason", ["expired", "deleted"])
def test_a_batch_that_cannot_go_on_keeps_what_has_come_of_it(
    batch_site: Site, caller: Caller, reason: str
) -> None:
    gate = f"{reason}-{caller.key_id}"
    lines = [chat(str(number), f"script:text=Hi&gate={gate}") for number in range(200)]

    batch = created(caller, lines)
    batch_site.running(caller, count=1)
    if reason == "expired":
        batch_site.office.do("end_batch_window", batch_id=batch["id"])
    else:
        delete(caller, batch["input_file_id"])
    batch_site.upstream.open_gate(gate)
    done = ended(caller, batch["id"])

    good = results(caller, done["output_file_id"])
    bad = results(caller, done["error_file_id"])
    if reason == "expired":
        assert (done["status"], done["expired_at"] is not None) == ("expired", True)
        assert len(good) + len(bad) == 200
        assert {line["error"]["code"] for line in bad.values()} == {"batch_expired"}
    elif done["status"] == "failed":
        assert [each["code"] for each in done["errors"]["data"]] == ["input_file_not_found"]
    assert len(good) == done["request_counts"]["completed"] > 0


def test_limits_of_the_key_make_a_batch_wait_and_not_fail(batch_site: Site) -> None:
    caller = batch_caller(batch_site)
    batch_site.office.do("limit_key", key_id=caller.key_id, max_concurrent=1)
    lines = [chat(str(number), "script:text=Hi") for number in range(12)]

    done = ended(caller, created(caller, lines)["id"])

    assert done["request_counts"] == {"total": 12, "completed": 12, "failed": 0}
    assert find(caller, done["id"]) == done
