"""Errors as Anthropic's API writes them, wherever they come from."""

from __future__ import annotations

from typing import Any

import pytest

from tests.flows.caller import Answer
from tests.flows.messages.asking import MESSAGES, Messenger, events_of
from tests.flows.site import Site

HELLO = {"role": "user", "content": "hello"}


def assert_refused(answer: Answer, status: int, kind: str, code: str, param: Any = None) -> None:
    assert (answer.status, answer.json["type"]) == (status, "error"), answer.body
    error = answer.error
    assert (error["type"], error["code"], error["param"]) == (kind, code, param)
    assert answer.json["request_id"] == answer.headers["request-id"] == answer.call_id
    assert error["message"]


@pytest.mark.parametrize(
    ("members", "param", "said"),
    [
        (
            {"messages": [{"role": "user", "content": [{"type": "tool_use"}]}]},
            "messages.0.content.0.type",
            "messages.0.content.0.type must be one of: text, image, document, search_result,"
            " tool_result.",
        ),
        (
            {"messages": [HELLO, {"role": "assistant", "content": [{"type": "image"}]}]},
            "messages.1.content.0.type",
            "messages.1.content.0.type must be one of: text, thinking, redacted_thinking,"
            " tool_use, server_tool_use, mcp_tool_use, web_search_tool_result,"
            " web_fetch_tool_result, code_execution_tool_result, bash_code_execution_tool_result,"
            " text_editor_code_execution_tool_result, tool_search_tool_result,"
            " advisor_tool_result, mcp_tool_result.",
        ),
        (
            {"tools": [{"type": "function", "function": {"name": "f"}}]},
            "tools.0.type",
            "tools.0 is a tool of OpenAI's format. Send name, description and input_schema,"
            " without type.",
        ),
    ],
)
def test_what_is_of_another_role_or_format_is_told_what_there_is(
    other: Messenger, members: dict[str, Any], param: str, said: str
) -> None:
    answer = other.ask(**members)

    assert_refused(answer, 400, "invalid_request_error", "invalid_request", param)
    assert answer.error["message"] == said


@pytest.mark.parametrize(
    ("members", "param"),
    [
        ({"max_tokens": None}, "max_tokens"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "tool", "content": "a"}]}, "messages.0.role"),
        ({"messages": [HELLO, {"role": "user", "content": [{"type": "text"}]}]},
         "messages.1.content.0.text"),
        ({"messages": [{"role": "user", "content": [{"type": "video"}]}]},
         "messages.0.content.0.type"),
        ({"temperature": 1.5}, "temperature"),
        ({"stop_sequences": ["a"] * 5}, "stop_sequences"),
        ({"tool_choice": {"type": "any"}}, "tool_choice"),
        ({"tools": [{"name": "a b", "input_schema": {}}]}, "tools.0.name"),
        ({"tools": [{"name": "a"}]}, "tools.0.input_schema"),
        ({"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 1024},
         "max_tokens"),
        ({"output_config": {"format": {"type": "json_schema", "schema": {"$ref": "http://a"}}}},
         "output_config.format.schema"),
        ({"api_base": "http://elsewhere"}, "api_base"),
    ],
)  # fmt: skip
def test_a_member_at_fault_is_named_as_the_api_does(
    other: Messenger, members: dict[str, Any], param: str
) -> None:
    answer = other.ask(**members)

    assert_refused(answer, 400, "invalid_request_error", "invalid_request", param)


@pytest.mark.parametrize(
    ("members", "param"),
    [
        ({"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, "tools.0.type"),
        ({"mcp_servers": [{"type": "url"}]}, "mcp_servers"),
        ({"container": "c"}, "container"),
    ],
)
def test_what_runs_or_lies_at_the_provider_is_refused(
    claude: Messenger, members: dict[str, Any], param: str
) -> None:
    answer = claude.ask(**members)

    assert_refused(answer, 400, "invalid_request_error", "unsupported_parameter", param)


def test_a_file_that_the_workspace_does_not_have_is_named(claude: Messenger) -> None:
    block = {"type": "image", "source": {"type": "file", "file_id": "file_1"}}

    answer = claude.ask(messages=[{"role": "user", "content": [block]}])

    place = "messages.0.content.0.source.file_id"
    assert_refused(answer, 400, "invalid_request_error", "file_not_found", place)


@pytest.mark.parametrize("kind", ["create", "continue"])
def test_a_program_that_asks_for_a_thread_is_told_to_do_without(
    anyone: Messenger, kind: str
) -> None:
    """In the words that the API's own SDKs look for."""
    answer = anyone.ask(thread={"type": kind, "previous_message_id": "msg_1"})

    assert_refused(answer, 400, "invalid_request_error", "unsupported_parameter", "thread")
    assert answer.error["details"] == {"error_code": "thread_unsupported_request"}


def test_tools_that_the_caller_runs_are_for_the_apis_own_models(
    claude: Messenger, other: Messenger
) -> None:
    tools = [{"type": "bash_20250124", "name": "bash"}]

    assert claude.ask(tools=tools).status == 200
    answer = other.ask(tools=tools)
    assert_refused(answer, 400, "invalid_request_error", "unsupported_parameter", "tools.0")


def test_a_broken_picture_is_found_where_it_stands(other: Messenger) -> None:
    broken = {"type": "base64", "media_type": "image/png", "data": "bm8="}
    said = [{"type": "text", "text": "See"}, {"type": "image", "source": broken}]
    answer = other.ask(messages=[HELLO, {"role": "user", "content": said}])

    param = "messages.1.content.1.source.data"
    assert_refused(answer, 400, "invalid_request_error", "invalid_file", param)


@pytest.mark.parametrize(
    ("headers", "message"),
    [
        ({"x-api-key": ""}, "No API key was provided"),
        ({"x-api-key": "sk-gw-nobody"}, "The API key is not valid."),
        ({"authorization": "Bearer sk-gw-another"}, "Two different API keys were provided."),
    ],
)
def test_a_bad_key(other: Messenger, headers: dict[str, str], message: str) -> None:
    answer = other.ask(headers=headers)

    assert_refused(answer, 401, "authentication_error", "invalid_api_key")
    assert message in answer.error["message"]


def test_the_bearer_is_a_key_too(other: Messenger) -> None:
    headers = {"x-api-key": "", "authorization": f"Bearer {other.secret}"}

    assert other.ask(headers=headers).status == 200


def test_a_profile_changes_nothing(other: Messenger) -> None:
    answer = other.ask(temperature=3, headers={"x-compat-profile": "bud"})

    assert_refused(answer, 400, "invalid_request_error", "invalid_request", "temperature")
    assert other.ask(headers={"x-compat-profile": "inferada"}).json["type"] == "message"


def test_errors_of_each_kind(messages_site: Site, other: Messenger) -> None:
    nobody = other.with_(model="nobody")
    assert_refused(nobody.ask(), 404, "not_found_error", "model_not_found", "model")
    poor = Messenger.of(messages_site.caller(credit_nusd=0))
    assert_refused(poor.ask(), 402, "billing_error", "insufficient_credits")
    kept_out = Messenger.of(messages_site.caller(scopes=["files"]))
    assert kept_out.ask().error["type"] == "permission_error"
    wrong = other.ask(method="GET")
    assert_refused(wrong, 405, "invalid_request_error", "method_not_allowed")
    assert wrong.headers["allow"] == "POST"
    malformed = other.ask(raw=b"{")
    assert_refused(malformed, 400, "invalid_request_error", "invalid_json")
    large = other.ask("a" * 1_100_000)
    assert_refused(large, 413, "request_too_large", "payload_too_large")


@pytest.mark.parametrize(
    ("fail", "status", "kind", "code"),
    [
        (400, 400, "invalid_request_error", "invalid_request"),
        (401, 502, "api_error", "provider_auth"),
        (429, 429, "rate_limit_error", "provider_rate_limit"),
        (500, 502, "api_error", "provider_unavailable"),
        (529, 529, "overloaded_error", "provider_overloaded"),
    ],
)
def test_what_a_provider_refuses(
    anyone: Messenger, fail: int, status: int, kind: str, code: str
) -> None:
    answer = anyone.ask(f"script:fail={fail}")

    assert (answer.status, answer.error["type"], answer.error["code"]) == (status, kind, code)
    assert answer.json["type"] == "error"


@pytest.mark.parametrize("how", ["reset_after=2", "truncate_after=2", "error_after=2"])
def test_a_stream_that_breaks_ends_with_an_error(anyone: Messenger, how: str) -> None:
    answer = anyone.stream(f"script:tokens=5&{how}")

    events = events_of(answer)
    assert events[0]["type"] == "message_start"
    last = events[-1]
    assert last["type"] == "error"
    assert last["error"]["type"] in ("api_error", "overloaded_error")
    assert last["request_id"] == answer.call_id
    assert [event["type"] for event in events].count("error") == 1


def test_a_silent_stream_is_kept_alive_by_pings(messages_site: Site, anyone: Messenger) -> None:
    with anyone.begin(f"script:tokens=2&gate={anyone.key_id}", stream=True) as live:
        for line in live.lines():
            if line == "event: ping":
                break
        messages_site.upstream.open_gate(anyone.key_id)
        rest = live.answer()
    assert b"event: message_start" in rest.body
    assert b"event: message_stop" in rest.body


@pytest.mark.parametrize("rest", ["/", "/none", "/batches", "/count_tokens/"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_addresses_below_are_missing_in_the_same_words(
    other: Messenger, rest: str, method: str
) -> None:
    answer = other.ask(path=f"{MESSAGES}{rest}", method=method)

    assert_refused(answer, 404, "not_found_error", "not_found")
    assert f"There is no endpoint at {MESSAGES}{rest}." in answer.error["message"]


def test_a_slash_too_many_is_told(other: Messenger) -> None:
    answer = other.ask(path=f"{MESSAGES}/count_tokens/")

    origin = f"http://127.0.0.1:{other.port}"
    assert f"Use the base URL {origin}:" in answer.error["message"]
    assert f"this endpoint is {origin}{MESSAGES}/count_tokens." in answer.error["message"]


def test_a_wrong_base_is_answered_with_the_right_one(other: Messenger) -> None:
    answer = other.ask(path="/v1/v1/messages")

    assert_refused(answer, 404, "not_found_error", "not_found")
    assert f"Use the base URL http://127.0.0.1:{other.port}:" in answer.error["message"]
