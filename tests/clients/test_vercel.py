"""The Vercel AI SDK on both mounts: tests/clients/node/vercel.js calls, this judges."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from tests.clients.battery import Report, run_battery
from tests.clients.conftest import Keys
from tests.clients.witnesses import assert_left, assert_prompt_paid
from tests.support.servers import GatewayServer, UpstreamServer

PROVIDERS = ("compatible", "compatible with usage", "openai", "openai responses")


@pytest.fixture(scope="session", params=["/v1", "/api/v1"])
def reports(
    request: pytest.FixtureRequest,
    node: str,
    shared_gateway: GatewayServer,
    upstream: UpstreamServer,
    keys: Keys,
) -> Report:
    """What each case came to under one mount, with every provider of the SDK."""
    return run_battery(
        node,
        "vercel.js",
        base_url=f"{shared_gateway.origin}{request.param}",
        book=f"{upstream.origin}/book",
        keys=asdict(keys) | {"good": shared_gateway.key},
    )


@pytest.fixture(params=PROVIDERS)
def report(request: pytest.FixtureRequest, reports: Report) -> Report:
    """What each case came to with one provider of the SDK."""
    start = f"{request.param}: "
    return {
        case.removeprefix(start): result
        for case, result in reports.items()
        if case.startswith(start)
    }


def test_a_stream_says_and_counts_what_a_buffered_answer_does(report: Report) -> None:
    buffered, streamed = report["buffered"], report["streamed"]

    usage = buffered["usage"]
    assert buffered["text"] == streamed["text"] == "tok0 tok1 tok2 tok3 tok4 "
    assert buffered["finish"] == streamed["finish"] == "stop"
    assert buffered["id"].startswith(("chatcmpl-", "resp_"))
    assert buffered["id"] != streamed["id"]
    assert (usage["inputTokens"], usage["outputTokens"], usage["reasoningTokens"]) == (1, 7, 2)
    assert streamed["usage"] == usage


def test_the_provider_of_anthropics_format_reads_answers_and_streams(reports: Report) -> None:
    for name in ("buffered", "streamed"):
        seen = reports[f"anthropic: {name}"]

        assert (seen["text"], seen["finish"]) == ("tok0 tok1 tok2 tok3 tok4 ", "stop")
        assert seen["id"].startswith("msg_")
        assert (seen["usage"]["inputTokens"], seen["usage"]["outputTokens"]) == (1, 7)


@pytest.mark.parametrize("case", ["schema", "schema streamed"])
def test_the_provider_of_anthropics_format_reads_objects(reports: Report, case: str) -> None:
    assert reports[f"anthropic: {case}"] == {"place": "tok0", "kind": "short"}


def test_the_simulated_model_answers(report: Report) -> None:
    seen = report["simulated"]

    assert "Good morning" in seen["text"]
    assert seen["usage"]["outputTokens"] > 0


@pytest.mark.parametrize("case", ["schema", "schema streamed"])
def test_an_answer_fits_the_schema(report: Report, case: str) -> None:
    assert report[case] == {"place": "tok0", "kind": "short"}


ERRORS = {
    "400": (400, "invalid_request"),
    "401": (401, "invalid_api_key"),
    "402": (402, "insufficient_credits"),
    "403": (403, "model_not_allowed"),
    "404": (404, "model_not_found"),
    "429": (429, "provider_rate_limit"),
    "502": (502, "provider_unavailable"),
    "broken off": (502, "provider_unavailable"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_a_failure_is_told_with_its_status_and_code(report: Report, case: str) -> None:
    error = report[f"error {case}"]

    assert error["name"] == "AI_APICallError"
    assert (error["status"], error["code"]) == ERRORS[case]
    assert error["message"]


@pytest.mark.parametrize("case", sorted(ERRORS.keys() - {"broken off"}))
def test_a_stream_that_cannot_begin_fails_as_a_buffered_call_does(
    report: Report, case: str
) -> None:
    seen = report[f"error {case} streamed"]

    assert seen["errors"] == [report[f"error {case}"]]
    assert seen["text"] == ""


def test_a_buffered_call_that_is_aborted_ends_everywhere(
    report: Report, shared_gateway: GatewayServer, upstream: UpstreamServer
) -> None:
    seen = report["leave buffered"]

    [call_id] = seen["begun"]
    assert seen["error"]["name"] == "AbortError"
    assert_prompt_paid(assert_left(shared_gateway, upstream, call_id))


def test_a_stream_that_is_aborted_ends_everywhere(
    report: Report, shared_gateway: GatewayServer, upstream: UpstreamServer
) -> None:
    seen = report["leave streamed"]

    [call_id] = seen["begun"]
    record = assert_left(shared_gateway, upstream, call_id)
    assert seen["kinds"][-1] == "abort"
    assert 10 <= record["tokens_completion"] < 9999
    assert int(record["cost_nano_usd"]) > 0
