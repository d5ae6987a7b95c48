"""HyperInfer, the request: items S3-01 to S3-24 and S3-38 to S3-41."""

from __future__ import annotations

import base64
import json
import urllib.request
from typing import Any

import pytest

from tests.flows.site import Site
from tests.sources.product import Client, client_of
from tests.support.file_server import serving_files
from tests.support.waiting import wait_until

PDF = b"%PDF-1.7\n1 0 obj\n"
WEATHER = {
    "type": "function",
    "function": {"name": "get_weather", "description": "Of a city.", "parameters": {}},
}


def user(*blocks: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the messages of one user who says these blocks and wants to see what arrives."""
    return [{"role": "user", "content": [*blocks, {"type": "text", "text": "script:echo"}]}]


def assert_refused(client: Client, param: str, **members: Any) -> None:
    answer = client.ask(**members)
    assert (answer.status, answer.error["code"]) == (400, "invalid_request"), answer.body
    assert answer.error["param"] == param


def test_S3_01_the_endpoint_is_under_api_v1(hyperinfer: Client) -> None:
    answer = hyperinfer.ask(path="/api/v1/chat/completions")

    assert (answer.status, answer.json["object"]) == (200, "chat.completion")


def test_S3_03_a_model_is_named_by_its_maker_and_itself(hyperinfer: Client) -> None:
    answer = hyperinfer.ask(model="anthropic/claude-sonnet-4.5")
    described = hyperinfer.get("models/anthropic/claude-sonnet-4.5")

    assert answer.json["model"] == "anthropic/claude-sonnet-4.5"
    assert described.json["id"] == "anthropic/claude-sonnet-4.5"
    assert_refused(hyperinfer, "model", model="anthropic/claude-none")
    assert_refused(hyperinfer, "model", model=None)


@pytest.mark.parametrize("role", ["system", "developer", "user", "assistant"])
def test_S3_04_roles(hyperinfer: Client, role: str) -> None:
    messages = [{"role": role, "content": "x"}, {"role": "user", "content": "script:echo"}]

    assert hyperinfer.sent(messages=messages)["messages"] == messages
    assert_refused(hyperinfer, "messages[0].role", messages=[{"role": "bot", "content": "x"}])


def test_S3_05_content_is_a_text_blocks_or_null(hyperinfer: Client) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "x"}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "42"},
        {"role": "user", "content": "script:echo"},
    ]

    assert hyperinfer.sent(messages=messages)["messages"] == messages
    null = [{"role": "assistant", "content": None}]
    assert_refused(hyperinfer, "messages[0].content", messages=null)


def test_S3_06_text_blocks_need_their_text(hyperinfer: Client) -> None:
    assert hyperinfer.ask(messages=user({"type": "text", "text": "x"})).status == 200
    assert_refused(hyperinfer, "messages[0].content[0].text", messages=user({"type": "text"}))


def test_S3_07_image_blocks_may_tell_the_detail(hyperinfer: Client) -> None:
    image = {"url": "https://93.184.215.14/a.png", "detail": "high"}
    messages = user({"type": "image_url", "image_url": image})

    assert hyperinfer.sent(messages=messages)["messages"] == messages
    path = "messages[0].content[0].image_url"
    for wrong, param in (({}, f"{path}.url"), ({**image, "detail": "all"}, f"{path}.detail")):
        block = {"type": "image_url", "image_url": wrong}
        assert_refused(hyperinfer, param, messages=user(block))


def test_S3_08_file_blocks_need_one_of_their_sources(hyperinfer: Client) -> None:
    encoded = base64.b64encode(PDF).decode()
    plain = user({"type": "file", "file": {"filename": "a.pdf", "file_data": encoded}})
    inside = user({"type": "file", "file": {"file_url": "https://169.254.169.254/a.pdf"}})
    nothing = user({"type": "file", "file": {"filename": "a.pdf"}})

    [file, _] = hyperinfer.sent(messages=plain)["messages"][0]["content"]

    assert file["file"]["file_data"] == f"data:application/pdf;base64,{encoded}"
    assert_refused(hyperinfer, "messages[0].content[0].file.file_url", messages=inside)
    assert_refused(hyperinfer, "messages[0].content[0]", messages=nothing)


def test_S3_08_files_are_fetched_from_their_addresses(hyperinfer: Client) -> None:
    with serving_files(lambda path: (200, {}, PDF)) as server:
        block = {"type": "file", "file": {"file_url": server.url("/a.pdf"), "filename": "b.pdf"}}
        [file, _] = hyperinfer.sent(messages=user(block))["messages"][0]["content"]

    data = f"data:application/pdf;base64,{base64.b64encode(PDF).decode()}"
    assert file == {"type": "file", "file": {"filename": "b.pdf", "file_data": data}}


def test_S3_09_messages_may_have_a_name(hyperinfer: Client) -> None:
    messages = [{"role": "user", "content": "script:echo", "name": "ada"}]

    assert hyperinfer.sent(messages=messages)["messages"] == messages


@pytest.mark.parametrize("name", ["reasoning", "reasoning_content"])
@pytest.mark.parametrize("value", ["I think.", None])
def test_S3_10_reasoning_is_taken_back(hyperinfer: Client, name: str, value: Any) -> None:
    messages = [
        {"role": "assistant", "content": "x", name: value},
        {"role": "user", "content": "script:echo"},
    ]

    assert hyperinfer.sent(messages=messages)["messages"] == messages


@pytest.mark.parametrize(
    ("call", "param"),
    [
        ({"type": "function", "function": {"name": "f", "arguments": "{}"}}, "id"),
        ({"id": "1", "type": "tool", "function": {"name": "f", "arguments": ""}}, "type"),
        ({"id": "1", "type": "function", "function": {"arguments": "{}"}}, "function.name"),
        ({"id": "1", "type": "function", "function": {"name": "f"}}, "function.arguments"),
    ],
)
def test_S3_11_every_member_of_a_tool_call_is_required(
    hyperinfer: Client, call: dict[str, Any], param: str
) -> None:
    messages = [{"role": "assistant", "tool_calls": [call]}]

    assert_refused(hyperinfer, f"messages[0].tool_calls[0].{param}", messages=messages)


def test_S3_12_tool_call_id(hyperinfer: Client) -> None:
    messages = [{"role": "tool", "content": "42"}]

    assert_refused(hyperinfer, "messages[0].tool_call_id", messages=messages)


def test_S3_13_tools_are_functions_with_a_name(hyperinfer: Client) -> None:
    strict: dict[str, Any] = {"type": "function", "function": {"name": "g", "strict": True}}

    assert hyperinfer.sent(tools=[WEATHER, strict])["tools"] == [WEATHER, strict]
    nameless = {"type": "function", "function": {"description": "x"}}
    assert_refused(hyperinfer, "tools[0].function.name", tools=[nameless])


def test_S3_14_tool_choice(hyperinfer: Client) -> None:
    named = {"type": "function", "function": {"name": "get_weather"}}

    for choice in ("auto", "none", "required", named):
        assert hyperinfer.sent(tools=[WEATHER], tool_choice=choice)["tool_choice"] == choice
    # Another format's word for it.
    assert hyperinfer.sent(tools=[WEATHER], tool_choice="any")["tool_choice"] == "required"
    assert_refused(hyperinfer, "tool_choice", tools=[WEATHER], tool_choice="some")


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
def test_S3_15_both_limits_are_capped_at_the_models_own(hyperinfer: Client, name: str) -> None:
    assert hyperinfer.sent(model="small-model", **{name: 50})[name] == 50
    assert hyperinfer.sent(model="small-model", **{name: 10**9})[name] == 100


def test_S3_16_temperature_top_p_and_stop(hyperinfer: Client) -> None:
    sent = hyperinfer.sent(temperature=0.2, top_p=0.9, stop="END")

    assert (sent["temperature"], sent["top_p"], sent["stop"]) == (0.2, 0.9, "END")
    assert hyperinfer.sent(stop=["a", "b"])["stop"] == ["a", "b"]


def test_S3_17_response_format(hyperinfer: Client) -> None:
    schema = {"name": "city", "schema": {"type": "object"}, "strict": True}

    forms: tuple[dict[str, Any], ...] = (
        {"type": "text"},
        {"type": "json_object"},
        {"type": "json_schema", "json_schema": schema},
    )
    for form in forms:
        assert hyperinfer.sent(response_format=form)["response_format"] == form
    for missing in ("name", "schema"):
        rest = {name: value for name, value in schema.items() if name != missing}
        incomplete = {"type": "json_schema", "json_schema": rest}
        path = f"response_format.json_schema.{missing}"
        assert_refused(hyperinfer, path, response_format=incomplete)


def test_S3_18_reasoning_effort_is_low_medium_or_high(site: Site, hyperinfer: Client) -> None:
    for effort in ("low", "medium", "high"):
        assert hyperinfer.sent(reasoning_effort=effort)["reasoning_effort"] == effort
    for effort in ("none", "minimal", "xhigh"):
        assert_refused(hyperinfer, "reasoning_effort", reasoning_effort=effort)
        assert site.caller().ask(reasoning_effort=effort).status == 200


def test_S3_19_stream_true_is_a_stream(hyperinfer: Client) -> None:
    streamed = hyperinfer.ask(stream=True)

    assert streamed.headers["content-type"].startswith("text/event-stream")
    assert hyperinfer.ask(stream=False).headers["content-type"] == "application/json"
    assert_refused(hyperinfer, "stream", stream="yes")


@pytest.mark.parametrize("wish", [None, {}, {"include_usage": False}, {"include_usage": True}])
def test_S3_20_the_usage_chunk_is_always_sent(hyperinfer: Client, wish: Any) -> None:
    answer = hyperinfer.ask("one two", stream=True, stream_options=wish)

    assert answer.chunks[-1]["choices"] == []
    assert answer.chunks[-1]["usage"]["total_tokens"] == 12


def test_S3_23_the_user_is_stored_with_the_call(site: Site, hyperinfer: Client) -> None:
    answer = hyperinfer.ask(user="user-7")

    assert site.record(answer.call_id)["user"] == "user-7"
    assert hyperinfer.get(f"generation?id={answer.call_id}").json["data"]["user"] == "user-7"


def read_document(site: Site) -> str:
    with urllib.request.urlopen(f"{site.gateway.base_url}/openapi.json", timeout=60) as found:
        return str(found.read().decode())


def test_S3_24_the_document_is_made_from_what_validates(site: Site, hyperinfer: Client) -> None:
    schemas = json.loads(read_document(site))["components"]["schemas"]
    members = schemas["ChatCompletionRequest"]["properties"]

    ranges = {
        name: part
        for name, rule in members.items()
        for part in rule.get("anyOf", [rule])
        if "maximum" in part and part["maximum"] < 1000
    }

    assert {"temperature", "top_p", "n", "top_logprobs", "presence_penalty"} <= set(ranges)
    for name, rule in ranges.items():
        more = {"logprobs": True} if name == "top_logprobs" else {}
        assert_refused(hyperinfer, name, **{name: rule["maximum"] + 1}, **more)


def test_S3_38_the_key_comes_as_a_bearer(hyperinfer: Client) -> None:
    wrong = hyperinfer.with_(secret="hi-none").ask()

    assert hyperinfer.ask().status == 200
    assert (wrong.status, wrong.error["code"]) == (401, "invalid_api_key")


def test_S3_39_balance_and_lock_belong_to_the_workspace(site: Site, hyperinfer: Client) -> None:
    other = site.another_key(hyperinfer.workspace_id)
    site.office.do("lock", workspace_id=hyperinfer.workspace_id)

    def is_locked(client: Any) -> bool:
        answer = client.ask()
        return bool(answer.status == 403 and answer.error["code"] == "workspace_locked")

    wait_until(lambda: is_locked(hyperinfer) and is_locked(other), what="the lock")
    poor = client_of(site, "hyperinfer", credit_nusd=0)
    assert poor.ask().error["code"] == "insufficient_credits"


def test_S3_39_limits_on_spending_belong_to_the_key(site: Site) -> None:
    limited = client_of(site, "hyperinfer", limits={"monthly_limit_nusd": 1})
    other = site.another_key(limited.workspace_id)

    refused, passed = limited.ask(), other.ask()

    assert (refused.status, refused.error["code"]) == (402, "key_limit_exceeded")
    assert passed.status == 200


def test_S3_40_requirement_numbers_are_no_part_of_the_api(site: Site) -> None:
    assert "002-R" not in read_document(site)


def test_S3_41_the_example_request(hyperinfer: Client) -> None:
    answer = hyperinfer.example(
        {
            "model": "anthropic/claude-sonnet-4.5",
            "messages": [
                {"role": "system", "content": "You are a concise assistant."},
                {"role": "user", "content": "In one sentence: what is speculative decoding?"},
            ],
            "max_tokens": 256,
        }
    )

    assert (answer.status, answer.json["choices"][0]["finish_reason"]) == (200, "stop")


def test_S3_21_a_plugin_that_nothing_here_runs_is_refused(hyperinfer: Client) -> None:
    for plugin in ({"id": "image"}, {"id": "no_plugin", "events": True}):
        answer = hyperinfer.ask(plugins=[plugin])
        assert (answer.status, answer.error["code"]) == (400, "invalid_request")
        assert answer.error["details"] == {"code": "plugin_unavailable"}
    assert_refused(hyperinfer, "plugins", plugins={"id": "web_search"})
    assert "plugins" not in hyperinfer.sent(plugins=[])


def test_S3_22_tool_events_are_switched_by_a_boolean(hyperinfer: Client) -> None:
    for wish in (True, False, None):
        assert "hi_tool_events" not in hyperinfer.sent(hi_tool_events=wish)
    assert_refused(hyperinfer, "hi_tool_events", hi_tool_events="yes")
