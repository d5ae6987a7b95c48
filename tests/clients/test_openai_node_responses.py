"""openai-node at /responses, on both mounts: tests/clients/node/responses.js calls, this judges."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from tests.clients.battery import Report, run_battery
from tests.clients.conftest import Keys
from tests.clients.witnesses import assert_left
from tests.support.servers import GatewayServer, UpstreamServer

WORDS = "tok0 tok1 tok2 tok3 tok4 "


@pytest.fixture(scope="module", params=["/v1", "/api/v1"])
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
        "responses.js",
        base_url=f"{shared_gateway.origin}{request.param}",
        book=f"{upstream.origin}/book",
        keys=asdict(keys) | {"good": shared_gateway.key},
    )


def test_a_question_is_answered(report: Report) -> None:
    response = report["create"]

    assert (response["output_text"], response["status"]) == (WORDS, "completed")
    assert [item["type"] for item in response["output"]] == ["reasoning", "message"]
    assert response["output"][0]["summary"][0]["text"] == "think0 think1 "
    assert response["usage"]["output_tokens"] == 7
    assert response["usage"]["output_tokens_details"]["reasoning_tokens"] == 2


def test_a_stream_has_the_events_of_the_api(report: Report) -> None:
    kinds, text = report["stream"]["kinds"], report["stream"]["text"]

    assert text == WORDS
    assert kinds[:2] == ["response.created", "response.in_progress"]
    assert kinds[-1] == "response.completed"
    assert kinds.count("response.output_item.added") == 2
    assert kinds.count("response.output_item.done") == 2
    assert kinds.count("response.output_text.done") == 1


def test_the_helper_for_streams_puts_the_response_together(report: Report) -> None:
    text, response = report["helper"]["text"], report["helper"]["response"]

    assert text == response["output_text"] == WORDS
    assert response["status"] == "completed"
    assert response["usage"]["output_tokens"] == 5


def test_a_limit_leaves_the_response_incomplete(report: Report) -> None:
    response = report["cut"]["response"]

    assert response["status"] == "incomplete"
    assert response["incomplete_details"] == {"reason": "max_output_tokens"}
    assert len(report["cut"]["text"].split()) == 16


def test_tools_are_called_and_answer(report: Report) -> None:
    seen = report["tools"]

    named = [[call["name"], json.loads(call["arguments"])] for call in seen["calls"]]
    assert named == [["get_weather", {"city": "Paris"}]] * 2
    assert seen["second"]["output_text"].split() == ["Mild"]


@pytest.mark.parametrize("how", ["buffered", "streamed"])
def test_an_answer_is_parsed_by_its_schema(report: Report, how: str) -> None:
    parsed = report["schema"][how]

    assert parsed.keys() == {"place", "celsius"}
    assert isinstance(parsed["celsius"], int)


def test_the_headers_come_through(report: Report) -> None:
    seen = report["headers"]

    headers = seen["headers"]
    assert seen["request_id"] == headers["x-request-id"] == seen["id"].removeprefix("resp_")
    assert headers["x-model-used"] == "fake-model"


def test_a_response_goes_on_from_a_stored_one(report: Report) -> None:
    first, second, echoed = (report["go on"][name] for name in ("first", "second", "echoed"))

    assert (first["output_text"].strip(), second["output_text"].strip()) == ("One", "Two")
    assert second["previous_response_id"] == first["id"]
    messages = json.loads(echoed["body_text"])["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant"] * 2 + ["user"]


def test_a_stored_response_is_retrieved_and_deleted(report: Report) -> None:
    seen = report["keep"]

    assert seen["found"] == seen["made"]
    [item] = seen["items"]
    assert item["content"] == [{"type": "input_text", "text": "script:tokens=5"}]
    assert (seen["gone"]["raised"], seen["gone"]["status"]) == ("NotFoundError", 404)


def test_a_stored_response_is_not_streamed_again(report: Report) -> None:
    error = report["keep"]["followed"]

    assert (error["raised"], error["code"]) == ("BadRequestError", "unsupported_parameter")
    assert error["param"] == "stream"


ERRORS = [
    ("400", "BadRequestError", 400, "invalid_request", "input[0].role"),
    ("400 tool", "BadRequestError", 400, "unsupported_parameter", "tools[0].type"),
    ("400 background", "BadRequestError", 400, "unsupported_parameter", "background"),
    ("400 previous", "BadRequestError", 400, "invalid_request", "previous_response_id"),
    ("401", "AuthenticationError", 401, "invalid_api_key", None),
    ("402", "APIError", 402, "insufficient_credits", None),
    ("403", "PermissionDeniedError", 403, "model_not_allowed", "model"),
    ("404", "NotFoundError", 404, "model_not_found", "model"),
    ("404 streamed", "NotFoundError", 404, "model_not_found", "model"),
    ("404 retrieve", "NotFoundError", 404, "not_found", "response_id"),
    ("404 delete", "NotFoundError", 404, "not_found", "response_id"),
    ("429", "RateLimitError", 429, "provider_rate_limit", None),
    ("502 failed", "InternalServerError", 502, "provider_unavailable", None),
    ("502 auth", "InternalServerError", 502, "provider_auth", None),
    ("504", "InternalServerError", 504, "provider_timeout", None),
    ("529", "InternalServerError", 529, "provider_overloaded", None),
]


@pytest.mark.parametrize(
    ("case", "raised", "status", "code", "param"), ERRORS, ids=[e[0] for e in ERRORS]
)
def test_a_failure_is_its_own_class(
    report: Report, case: str, raised: str, status: int, code: str, param: str | None
) -> None:
    error = report[f"error {case}"]

    assert (error["raised"], error["status"], error["code"]) == (raised, status, code)
    assert error["param"] == param
    assert error["request_id"] == error["body_request_id"]
    assert "no body" not in error["message"]


@pytest.mark.parametrize("case", ["broken", "broken helper"])
def test_a_failure_inside_the_stream_is_raised(report: Report, case: str) -> None:
    error = report[f"error {case}"]

    assert (error["raised"], error["code"]) == ("APIError", "provider_unavailable")


def test_a_client_whose_patience_ends_says_so(report: Report) -> None:
    assert report["error timeout"]["raised"] == "APIConnectionTimeoutError"


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
