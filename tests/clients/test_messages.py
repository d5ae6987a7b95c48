"""Clients of /messages: Anthropic's SDK for Node on both mounts, and LangChain's package.

Each asks a model of Anthropic's own dialect and one of another. The SDK for Python is in
tests/flows/messages."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pytest

from tests.clients import environments
from tests.clients.battery import Report, run_battery, run_program
from tests.clients.conftest import Keys
from tests.clients.matrix import PROMPTS
from tests.clients.witnesses import assert_left
from tests.support.servers import ROOT, GatewayServer, UpstreamServer

CLAUDE = "a-claude"
MODELS = ("fake-model", CLAUDE)
WORDS = "tok0 tok1 tok2 tok3 tok4 "
WEATHER: list[Any] = [["get_weather", {"city": "Paris"}]]


@pytest.fixture(scope="module")
def gateway(shared_gateway: GatewayServer, upstream: UpstreamServer) -> GatewayServer:
    """The shared gateway with a model of Anthropic's own dialect beside `fake-model`."""
    shared_gateway.manage(
        *("add_provider", "claude-of-clients", "--kind", "anthropic", "--credential-stdin"),
        *("--base-url", f"{upstream.origin}/anthropic/v1"),
        stdin="sk-canary-0123456789abcdef",
    )
    shared_gateway.manage(
        *("add_model", CLAUDE, "--provider", "claude-of-clients"),
        *("--native", "claude-haiku-4-5-20251001", "--input", "1", "--output", "2"),
        *("--context", "128000", "--max-output", "16384"),
    )
    return shared_gateway


def of_model(report: Report, model: str) -> Report:
    """Return what each case came to with one model."""
    start = f"{model}: "
    return {case.removeprefix(start): r for case, r in report.items() if case.startswith(start)}


@pytest.fixture(scope="module", params=["/v1", "/api/v1"])
def node_report(
    request: pytest.FixtureRequest,
    node: str,
    gateway: GatewayServer,
    upstream: UpstreamServer,
    keys: Keys,
) -> Report:
    """What Anthropic's SDK for Node saw under one mount."""
    return run_battery(
        node,
        "anthropic.js",
        base_url=f"{gateway.origin}{request.param}",
        book=f"{upstream.origin}/book",
        keys=asdict(keys) | {"good": gateway.key},
    )


@pytest.fixture(params=MODELS)
def sdk(request: pytest.FixtureRequest, node_report: Report) -> Report:
    """What Anthropic's SDK for Node saw of one model."""
    return of_model(node_report, request.param)


def test_a_message_is_answered(sdk: Report) -> None:
    message = sdk["create"]["message"]

    assert [(block["type"], block["text"]) for block in message["content"]] == [("text", WORDS)]
    assert (message["role"], message["stop_reason"]) == ("assistant", "end_turn")
    assert message["usage"]["output_tokens"] == 5
    assert sdk["create"]["request_id"] == message["id"].removeprefix("msg_")


def test_a_stream_has_the_events_of_the_api(sdk: Report) -> None:
    kinds = sdk["stream"]

    assert kinds[:2] == ["message_start", "content_block_start"]
    assert kinds[-3:] == ["content_block_stop", "message_delta", "message_stop"]
    assert set(kinds[2:-3]) == {"content_block_delta"}


def test_the_helper_for_streams_puts_the_message_together(sdk: Report) -> None:
    text, message = sdk["helper"]["text"], sdk["helper"]["message"]

    thought, said = message["content"]
    assert (thought["type"], thought["thinking"]) == ("thinking", "think0 think1 ")
    assert said["text"] == text == WORDS
    assert message["stop_reason"] == "end_turn"
    assert message["usage"]["output_tokens"] == 7


def test_a_tool_is_called_and_answers(sdk: Report) -> None:
    seen = sdk["tools"]

    assert [[seen["call"]["name"], seen["call"]["input"]]] == WEATHER
    assert seen["first"]["stop_reason"] == "tool_use"
    assert seen["second"]["content"][0]["text"].split() == ["Mild"]
    assert seen["second"]["stop_reason"] == "end_turn"


def test_the_tool_runner_makes_the_round_trip(sdk: Report) -> None:
    """It asks for a thread that the server keeps, and goes on without."""
    seen = sdk["tool runner"]

    assert seen["calls"] == [{"city": "Paris"}]
    assert seen["message"]["content"][0]["text"].split() == ["Mild"]


def test_an_answer_fits_the_schema(sdk: Report) -> None:
    wanted = {"place": "tok0", "kind": "short"}

    assert sdk["schema"]["buffered"] == json.loads(sdk["schema"]["streamed"]) == wanted


def test_tokens_are_counted(sdk: Report) -> None:
    assert sdk["count"]["input_tokens"] > 0


ERRORS = [
    ("400", "BadRequestError", 400, "invalid_request"),
    ("401", "AuthenticationError", 401, "invalid_api_key"),
    ("402", "PaymentRequiredError", 402, "insufficient_credits"),
    ("403", "PermissionDeniedError", 403, "model_not_allowed"),
    ("404", "NotFoundError", 404, "model_not_found"),
    ("404 streamed", "NotFoundError", 404, "model_not_found"),
    ("429", "RateLimitError", 429, "provider_rate_limit"),
    ("502", "InternalServerError", 502, "provider_unavailable"),
    ("529", "OverloadedError", 529, "provider_overloaded"),
    ("broken", "APIError", None, "provider_unavailable"),
]


@pytest.mark.parametrize(("case", "raised", "status", "code"), ERRORS, ids=[e[0] for e in ERRORS])
def test_a_failure_is_its_own_class(
    sdk: Report, case: str, raised: str, status: int | None, code: str
) -> None:
    error = sdk[f"error {case}"]

    assert (error["raised"], error["status"], error["code"]) == (raised, status, code)
    assert error["request_id"] == error["body_request_id"]
    assert error["type"].endswith("_error")


def test_a_client_that_leaves_a_stream_ends_the_upstream_call(
    sdk: Report, gateway: GatewayServer, upstream: UpstreamServer
) -> None:
    seen = sdk["leave streamed"]

    [call_id] = seen["begun"]
    record = assert_left(gateway, upstream, call_id)
    assert seen["raised"] is None  # the client ends an aborted stream without a word
    assert 1 <= record["tokens_completion"] < 1999


@pytest.fixture(scope="module")
def langchain_report(gateway: GatewayServer) -> Report:
    """What LangChain's package for Anthropic saw."""
    folder = environments.install("newest")
    program = ("-m", "tests.clients.python", "langchain_anthropic")
    command, env = environments.command_in(folder, *program)
    told = {"BASE_URL": gateway.base_url, "KEY": gateway.key, "PROMPTS": json.dumps(PROMPTS)}
    told |= {"PROFILES": "{}", "SNIPPETS": "{}"}
    report = run_program(command, ROOT, env | told)
    return {case.removeprefix("langchain_anthropic: "): seen for case, seen in report.items()}


@pytest.fixture(params=MODELS)
def langchain(request: pytest.FixtureRequest, langchain_report: Report) -> Report:
    """What LangChain's package saw of one model."""
    return of_model(langchain_report, request.param)


@pytest.mark.parametrize("case", ["buffered", "streamed", "streamed async"])
def test_langchain_is_answered(langchain: Report, case: str) -> None:
    seen = langchain[case]

    assert (seen["text"], seen["finish"]) == (WORDS, "end_turn")
    assert seen["usage"] == [1, 5]


@pytest.mark.parametrize("case", ["tools", "tools streamed"])
def test_langchain_calls_its_tools(langchain: Report, case: str) -> None:
    seen = langchain[case]

    assert (seen["calls"], seen["finish"]) == (WEATHER, "tool_use")
    assert seen["text"].split() == ["Mild"]


def test_langchain_gets_an_object_of_its_schema(langchain: Report) -> None:
    assert json.loads(langchain["schema"]["text"]) == {"place": "Paris", "celsius": 7}


def test_langchain_gives_back_what_was_thought(langchain: Report) -> None:
    seen = langchain["thinking"]

    assert seen["calls"] == [["thinking", "think0 think1 "], ["text", None]]
    assert seen["text"].split() == ["Two"]


def test_langchain_raises_when_a_stream_breaks(langchain: Report) -> None:
    seen = langchain["broken"]

    assert seen["text"].split() == ["tok0", "tok1", "tok2"]
    assert seen["raised"]


def test_langchain_raises_its_own_error_of_a_limit(langchain: Report) -> None:
    assert langchain["limited"]["raised"] == "AnthropicRateLimitError"
