"""openai-node on both mounts: tests/clients/node/openai.js calls, this judges."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from tests.clients.battery import Report, run_battery
from tests.clients.conftest import Keys
from tests.clients.witnesses import assert_left
from tests.support.servers import GatewayServer, UpstreamServer


@pytest.fixture(scope="session", params=["/v1", "/api/v1"])
def report(
    request: pytest.FixtureRequest,
    node: str,
    shared_gateway: GatewayServer,
    upstream: UpstreamServer,
    keys: Keys,
) -> Report:
    """What each case came to under one mount."""
    return run_battery(
        node,
        "openai.js",
        base_url=f"{shared_gateway.origin}{request.param}",
        book=f"{upstream.origin}/book",
        keys=asdict(keys) | {"good": shared_gateway.key},
    )


def test_a_question_is_answered(report: Report) -> None:
    answer, simulated = report["create"], report["create simulated"]

    usage = answer["usage"]
    assert answer["choices"][0]["message"]["content"].split() == [f"tok{n}" for n in range(10)]
    assert (usage["prompt_tokens"], usage["completion_tokens"]) == (4, 10)
    assert usage["cost"] == pytest.approx((4 * 1_000 + 10 * 2_000) / 10**9, abs=1e-12)
    assert answer["timings"]["total_ms"] >= answer["timings"]["upstream_ms"]
    assert answer["credits_used"] == pytest.approx(usage["cost"] * 100, abs=1e-4)
    assert "Good morning" in simulated["choices"][0]["message"]["content"]


def test_the_loop_that_guards_nothing_reads_the_built_in_model(report: Report) -> None:
    chunks, text = report["stream simulated"]["chunks"], report["stream simulated"]["text"]

    assert len(text.split()) == 20
    assert len({(chunk["id"], chunk["created"], chunk["model"]) for chunk in chunks}) == 1
    assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"
    assert chunks[-2]["choices"][0]["finish_reason"] == "stop"
    assert "usage" in chunks[-1]


@pytest.mark.parametrize("case", ["helper", "helper with usage", "helper simulated"])
def test_the_stream_helper_puts_the_answer_together(report: Report, case: str) -> None:
    seen = report[case]

    choice = seen["answer"]["choices"][0]
    assert choice["message"]["content"] == seen["text"]
    assert len(seen["text"].split()) == 6
    assert choice["finish_reason"] == "stop"
    assert seen["usage"]["completion_tokens"] == 6
    assert seen["usage"]["cost"] > 0


def test_the_tool_runner_makes_the_round_trip(report: Report) -> None:
    seen = report["tools simulated"]

    assert [list(arguments) for arguments in seen["calls"]] == [["city"]]
    assert seen["roles"] == ["user", "assistant", "tool", "assistant"]
    assert seen["text"]


def test_streamed_tool_calls_are_put_together(report: Report) -> None:
    choice = report["tools streamed"]

    calls = choice["message"]["tool_calls"]
    assert choice["finish_reason"] == "tool_calls"
    assert [call["id"] for call in calls] == ["call_0", "call_1"]
    assert [json.loads(call["function"]["arguments"]) for call in calls] == [{"city": "Paris"}] * 2


@pytest.mark.parametrize("how", ["buffered", "streamed", "simulated"])
def test_an_answer_fits_the_schema(report: Report, how: str) -> None:
    answer = json.loads(report["schema"][how])

    assert answer.keys() == {"place", "celsius"}
    assert isinstance(answer["celsius"], int)


FILE = 'You sent a "name" of ümlauts.mp3, 32000 bytes.'


def test_speech_is_a_file(report: Report) -> None:
    seen = report["speech"]

    assert (seen["type"], seen["head"]) == ("audio/wav", "RIFF")
    assert seen["bytes"] > 2 * 8_000 // 5


@pytest.mark.parametrize("case", ["transcription", "translation"])
def test_a_recording_becomes_text(report: Report, case: str) -> None:
    seen = report[case]

    assert seen["text"] == FILE
    assert (seen["usage"]["type"], seen["usage"]["seconds"]) == ("duration", 2)


def test_a_streamed_transcript_is_put_together(report: Report) -> None:
    seen = report["transcription streamed"]

    assert seen["text"].strip() == FILE
    assert (seen["last"]["type"], seen["last"]["text"].strip()) == ("transcript.text.done", FILE)


def test_the_models_are_listed_and_looked_up(report: Report) -> None:
    listed = {model["id"]: model for model in report["models"]["listed"]}

    assert {"fake-model", "tollhouse/simulated"} <= listed.keys()
    assert report["models"]["one"] == listed["tollhouse/simulated"]


def test_the_headers_come_through(report: Report) -> None:
    seen = report["headers"]

    headers = seen["headers"]
    assert seen["request_id"] == headers["x-request-id"] == seen["id"].removeprefix("chatcmpl-")
    assert headers["x-model-used"] == "fake-model"
    assert headers["x-credits-used"] == "0.0005"
    assert "total;dur=" in headers["server-timing"]


def test_the_record_says_what_the_answer_said(report: Report) -> None:
    answer, record = report["generation"]["answer"], report["generation"]["record"]

    assert answer["id"] == f"chatcmpl-{record['id']}"
    assert record["total_cost"] == answer["usage"]["cost"] > 0
    assert record["status"] == "ok"


ERRORS = [
    ("400", "BadRequestError", 400, "invalid_request"),
    ("401", "AuthenticationError", 401, "invalid_api_key"),
    ("402", "APIError", 402, "insufficient_credits"),
    ("403", "PermissionDeniedError", 403, "model_not_allowed"),
    ("404", "NotFoundError", 404, "model_not_found"),
    ("404 streamed", "NotFoundError", 404, "model_not_found"),
    ("404 retrieve", "NotFoundError", 404, "model_not_found"),
    ("404 endpoint", "NotFoundError", 404, "not_found"),
    ("413", "APIError", 413, "payload_too_large"),
    ("429", "RateLimitError", 429, "provider_rate_limit"),
    ("502 failed", "InternalServerError", 502, "provider_unavailable"),
    ("502 auth", "InternalServerError", 502, "provider_auth"),
    ("504", "InternalServerError", 504, "provider_timeout"),
    ("529", "InternalServerError", 529, "provider_overloaded"),
]


@pytest.mark.parametrize(("case", "raised", "status", "code"), ERRORS, ids=[e[0] for e in ERRORS])
def test_a_failure_is_its_own_class(
    report: Report, case: str, raised: str, status: int, code: str
) -> None:
    error = report[f"error {case}"]

    assert (error["raised"], error["status"], error["code"]) == (raised, status, code)
    assert error["request_id"] == error["body_request_id"]
    assert "no body" not in error["message"]


def test_a_failure_inside_the_stream_is_raised_by_the_helper(report: Report) -> None:
    helper = report["broken helper"]

    assert (helper["raised"], helper["code"]) == ("APIError", "provider_unavailable")


def test_what_cannot_get_better_is_not_tried_again(report: Report) -> None:
    seen = report["not tried again"]

    assert seen["code"] == "provider_auth"
    assert len(seen["begun"]) == 1


@pytest.mark.parametrize(
    ("case", "raised"), [("leave buffered", "APIUserAbortError"), ("leave streamed", None)]
)
def test_a_client_that_leaves_ends_the_upstream_call(
    report: Report,
    shared_gateway: GatewayServer,
    upstream: UpstreamServer,
    case: str,
    raised: str | None,
) -> None:
    seen = report[case]

    assert seen["raised"] == raised  # the client ends an aborted stream without a word
    assert len(seen["begun"]) == 1
    assert_left(shared_gateway, upstream, seen["begun"][0])


def test_a_client_whose_patience_ends_says_so(report: Report) -> None:
    assert report["error timeout"]["raised"] == "APIConnectionTimeoutError"
