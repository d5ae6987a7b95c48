"""The fake upstream speaks Anthropic's Messages API, and refuses what the API refuses."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import anthropic
import pytest

from tests.fakes.anthropic.dialect import REDACTED, signature_of
from tests.fakes.asking import Reply, connect, messages_bytes, read_reply, script
from tests.support.servers import UpstreamServer

HEADERS = {"x-api-key": "sk-any", "anthropic-version": "2023-06-01"}
TOOL: Any = {"name": "get_weather", "input_schema": {"type": "object", "properties": {}}}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "sun"}
TEXT = {"type": "text", "text": "Hi"}
MARK = {"cache_control": {"type": "ephemeral"}}
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n and so on").decode()
BUDGET = {"type": "enabled", "budget_tokens": 1024}
ROOM = {"max_tokens": 2048}
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": signature_of("Hm.")}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def said(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def picture(**source: Any) -> dict[str, Any]:
    source = {"type": "base64", "media_type": "image/png", "data": PNG} | source
    return {"messages": [user({"type": "image", "source": source})]}


def text_of(prompt: str) -> dict[str, Any]:
    return {"model": "fake", "max_tokens": 64, "messages": [{"role": "user", "content": prompt}]}


def ask(upstream: UpstreamServer, body: dict[str, Any], **headers: str) -> Reply:
    with connect(upstream) as link:
        link.sendall(messages_bytes(body, headers or HEADERS))
        return read_reply(link)


@pytest.fixture
def client(upstream: UpstreamServer) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(
        api_key="sk-any", base_url=f"{upstream.origin}/anthropic", max_retries=0
    ) as made:
        yield made


def test_the_sdk_for_vertex_ai_gets_an_answer(upstream: UpstreamServer) -> None:
    with anthropic.AnthropicVertex(
        region="global",
        project_id="p-1",
        access_token="sk-any",
        base_url=f"{upstream.origin}/v1",
        max_retries=0,
    ) as vertex:
        answer = vertex.messages.create(**text_of(script(tokens=2)))
        with vertex.messages.stream(**text_of(script(tokens=2))) as stream:
            final = stream.get_final_message()

    for message in (answer, final):
        assert [getattr(block, "text", "") for block in message.content] == ["tok0 tok1 "]


TAKEN: dict[str, dict[str, Any]] = {
    "plain": {},
    "system": {"system": [TEXT | MARK]},
    "one role twice": {"messages": [user(TEXT), user(TEXT)]},
    "prefill": {"messages": [user(TEXT), said(TEXT)]},
    "tools": {"tools": [TOOL], "tool_choice": {"type": "any", "disable_parallel_tool_use": True}},
    "tool loop": {"messages": [user(TEXT), said(CALL), user(RESULT, TEXT)], "tools": [TOOL]},
    "picture": picture(),
    "picture by address": {
        "messages": [user({"type": "image", "source": {"type": "url", "url": "https://a/b.png"}})]
    },
    "sampling": {"temperature": 1, "top_k": 5, "stop_sequences": ["END"]},
    "thinking": ROOM | {"thinking": BUDGET},
    "thoughts": ROOM
    | {
        "thinking": BUDGET,
        "tools": [TOOL],
        "messages": [user(TEXT), said(REDACTED, THOUGHT, CALL), user(RESULT)],
    },
    "adaptive": {
        "model": "claude-opus-5-5",
        "thinking": {"type": "adaptive"},
        "output_config": {"effort": "high"},
    },
    "schema": {
        "output_config": {
            "format": {
                "type": "json_schema",
                "schema": {"type": "object", "additionalProperties": False},
            }
        }
    },
    "user": {"metadata": {"user_id": "u-1"}},
}
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "max_tokens zero": ({"max_tokens": 0}, "max_tokens: Input should be greater"),
    "max_tokens too many": (
        {"max_tokens": 64_001, "model": "claude-sonnet-4-5"},
        "max_tokens: 64001 > 64000, which is the maximum allowed",
    ),
    "unknown member": ({"n": 2}, "n: Extra inputs are not permitted"),
    "unknown member of a block": ({"messages": [user(TEXT | {"name": "x"})]}, "SDK's types"),
    "unknown member of a tool": ({"tools": [TOOL | {"parameters": {}}]}, "SDK's types"),
    "no messages": ({"messages": []}, "at least one message"),
    "role system": ({"messages": [{"role": "system", "content": "x"}]}, "top-level `system`"),
    "role tool": ({"messages": [user(TEXT), {"role": "tool", "content": "x"}]}, 'role "tool"'),
    "assistant first": ({"messages": [said(TEXT), user(TEXT)]}, 'must use the "user" role'),
    "empty content": ({"messages": [user(TEXT), said(), user(TEXT)]}, "non-empty content"),
    "empty text": ({"messages": [user({"type": "text", "text": ""})]}, "must be non-empty"),
    "blank text": ({"messages": [user({"type": "text", "text": " "})]}, "non-whitespace text"),
    "marked empty text": (
        {"messages": [user({"type": "text", "text": ""} | MARK)]},
        "cache_control cannot be set for empty text blocks",
    ),
    "empty system": ({"system": ""}, "system: text content blocks must be non-empty"),
    "five marks": ({"messages": [user(*[TEXT | MARK] * 5)]}, "A maximum of 4 blocks"),
    "result without call": ({"messages": [user(RESULT)]}, "unexpected `tool_use_id`"),
    "call without result": (
        {"messages": [user(TEXT), said(CALL), user(TEXT)]},
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after",
    ),
    "result behind text": (
        {"messages": [user(TEXT), said(CALL), user(TEXT, RESULT)]},
        "without `tool_result` blocks",
    ),
    "call at the end": ({"messages": [user(TEXT), said(CALL)]}, "without `tool_result` blocks"),
    "result twice": (
        {"messages": [user(TEXT), said(CALL), user(RESULT, RESULT)]},
        "single result",
    ),
    "call twice": (
        {"messages": [user(TEXT), said(CALL), user(RESULT), said(CALL), user(RESULT)]},
        "`tool_use` ids must be unique",
    ),
    "call id": ({"messages": [user(TEXT), said(CALL | {"id": "a.b:0"})]}, "tool_use.id: String"),
    "call input": ({"messages": [user(TEXT), said(CALL | {"input": "{}"})]}, "valid dictionary"),
    "tool without schema": ({"tools": [{"name": "a"}]}, "tools.0.custom.input_schema: Field"),
    "tool of no object": ({"tools": [{"name": "a", "input_schema": {}}]}, "input_schema.type"),
    "tool name": ({"tools": [TOOL | {"name": "a.b"}]}, "tools.0.custom.name: String should match"),
    "tool name too long": ({"tools": [TOOL | {"name": "a" * 129}]}, "at most 128 characters"),
    "tool twice": ({"tools": [TOOL, TOOL]}, "Tool names must be unique"),
    "choice of no tool": ({"tool_choice": {"type": "auto"}}, "only be specified while providing"),
    "choice of unknown tool": (
        {"tools": [TOOL], "tool_choice": {"type": "tool", "name": "b"}},
        "Tool 'b' not found in provided tools",
    ),
    "temperature": ({"temperature": 1.5}, "temperature: range: 0..1"),
    "top_p": ({"top_p": 1.5}, "top_p: range"),
    "temperature and top_p": ({"temperature": 0.5, "top_p": 0.5}, "cannot both be specified"),
    "temperature of a newer model": (
        {"temperature": 0.5, "model": "claude-opus-4-7"},
        "`temperature` is deprecated for this model.",
    ),
    "picture type": (picture(media_type="image/bmp"), "media_type: Input should be 'image/jpeg'"),
    "picture data": (picture(data="***"), "invalid base64 data"),
    "picture mismatch": (picture(media_type="image/gif"), "does not match the provided media"),
    "picture by http": (picture(type="url", url="http://a/b.png"), "Only HTTPS"),
    "blank stop": ({"stop_sequences": ["\n"]}, "each stop sequence must contain non-whitespace"),
    "empty stop": ({"stop_sequences": [""]}, "each stop sequence must be non-empty"),
    "long user": ({"metadata": {"user_id": "u" * 257}}, "at most 256 characters"),
    "small budget": (
        ROOM | {"thinking": BUDGET | {"budget_tokens": 1023}},
        "greater than or equal to 1024",
    ),
    "budget of all": ({"max_tokens": 1024, "thinking": BUDGET}, "must be greater than `thinking"),
    "thinking and temperature": (
        ROOM | {"thinking": BUDGET, "temperature": 0},
        "`temperature` may only be set to 1",
    ),
    "thinking and forced tool": (
        ROOM | {"thinking": BUDGET, "tools": [TOOL], "tool_choice": {"type": "any"}},
        "Thinking may not be enabled when tool_choice forces tool use",
    ),
    "thought changed": (
        ROOM
        | {
            "thinking": BUDGET,
            "messages": [user(TEXT), said(THOUGHT | {"thinking": "Oh."}, TEXT), user(TEXT)],
        },
        "messages.1.content.0: Invalid `signature` in `thinking` block",
    ),
    "thought without thinking": (
        {"messages": [user(TEXT), said(THOUGHT, TEXT), user(TEXT)]},
        "When thinking is disabled, an `assistant` message in the final position",
    ),
    "nothing behind a thought": (
        ROOM | {"thinking": BUDGET, "messages": [user(TEXT), said(THOUGHT), user(TEXT)]},
        "The final block in an assistant message cannot be `thinking`",
    ),
    "thinking lost": (
        ROOM | {"thinking": BUDGET, "messages": [user(TEXT), said(CALL), user(RESULT)]},
        "Expected `thinking` or `redacted_thinking`, but found `tool_use`",
    ),
    "budget of a newer model": (
        ROOM | {"thinking": BUDGET, "model": "claude-sonnet-5"},
        '"thinking.type.enabled" is not supported',
    ),
    "adaptive of an older model": (
        {"thinking": {"type": "adaptive"}, "model": "claude-haiku-4-5-20251001"},
        "adaptive thinking is not supported",
    ),
    "effort of an older model": (
        {"output_config": {"effort": "low"}, "model": "claude-sonnet-4-5"},
        "does not support the effort parameter",
    ),
    "trailing whitespace": (
        {"messages": [user(TEXT), said({"type": "text", "text": "So: "})]},
        "cannot end with trailing whitespace",
    ),
    "prefill of a newer model": (
        {"messages": [user(TEXT), said(TEXT)], "model": "claude-opus-4-6"},
        "does not support assistant message prefill",
    ),
    "open schema": (
        {"output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}}},
        "'additionalProperties' must be explicitly set to false",
    ),
}


@pytest.mark.parametrize("name", TAKEN)
def test_it_takes_what_the_api_takes(upstream: UpstreamServer, name: str) -> None:
    reply = ask(upstream, text_of("Hi") | TAKEN[name])

    assert reply.status == 200, reply.body


@pytest.mark.parametrize("name", REFUSED)
def test_it_refuses_what_the_api_refuses(upstream: UpstreamServer, name: str) -> None:
    changes, wording = REFUSED[name]

    reply = ask(upstream, text_of("Hi") | changes)

    assert reply.status == 400
    assert reply.json["type"] == "error"
    assert reply.json["error"]["type"] == "invalid_request_error"
    assert wording in reply.json["error"]["message"]
    assert reply.json["request_id"].startswith("req_")


@pytest.mark.parametrize("member", ["model", "max_tokens", "messages"])
def test_it_misses_what_must_be_there(upstream: UpstreamServer, member: str) -> None:
    body = text_of("Hi")
    del body[member]

    assert ask(upstream, body).json["error"]["message"] == f"{member}: Field required"


@pytest.mark.parametrize(
    ("headers", "status", "wording"),
    [
        ({"anthropic-version": "2023-06-01"}, 401, "x-api-key header is required"),
        ({"x-api-key": "sk-any"}, 400, "anthropic-version: header is required"),
        (HEADERS | {"anthropic-version": "2022-01-01"}, 400, "anthropic-version"),
    ],
)
def test_it_wants_its_headers(
    upstream: UpstreamServer, headers: dict[str, str], status: int, wording: str
) -> None:
    reply = ask(upstream, text_of("Hi"), **headers)

    assert reply.status == status
    assert wording in reply.json["error"]["message"]


def test_a_model_that_does_not_exist_is_not_found(client: anthropic.Anthropic) -> None:
    with pytest.raises(anthropic.NotFoundError, match="model: claude-missing"):
        client.messages.create(**text_of("Hi") | {"model": "claude-missing"})


def test_the_sdk_reads_an_answer_with_its_usage(client: anthropic.Anthropic) -> None:
    prompt = script(tokens=3, reasoning=2, cached=1, cache_written=1)

    answer = client.messages.create(**text_of(prompt), system="one two three")

    assert [block.type for block in answer.content] == ["thinking", "text"]
    assert answer.content[1].to_dict()["text"] == "tok0 tok1 tok2 "
    assert answer.stop_reason == "end_turn"
    assert answer.usage.input_tokens == 2
    assert answer.usage.cache_read_input_tokens == 1
    assert answer.usage.cache_creation_input_tokens == 1
    assert answer.usage.output_tokens == 5


def test_the_sdk_puts_a_stream_together(client: anthropic.Anthropic) -> None:
    prompt = script(tools=2, text="One moment.", reasoning=1, redacted=1)

    with client.messages.stream(**text_of(prompt), tools=[TOOL]) as stream:
        answer = stream.get_final_message()

    kinds = [block.type for block in answer.content]
    assert kinds == ["redacted_thinking", "thinking", "text", "tool_use", "tool_use"]
    assert [b.input for b in answer.content if b.type == "tool_use"] == [{"city": "Paris"}] * 2
    assert answer.stop_reason == "tool_use"
    assert answer.usage.output_tokens == 13


@pytest.mark.parametrize(
    "reason", ["pause_turn", "refusal", "stop_sequence", "model_context_window_exceeded"]
)
@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_ends_as_told(client: anthropic.Anthropic, reason: str, stream: bool) -> None:
    asked = text_of(script(finish=reason))
    if stream:
        with client.messages.stream(**asked) as opened:
            answer = opened.get_final_message()
    else:
        answer = client.messages.create(**asked)

    assert answer.stop_reason == reason


def test_a_limit_ends_an_answer(client: anthropic.Anthropic) -> None:
    answer = client.messages.create(**text_of("Hi") | {"max_tokens": 2})

    assert answer.stop_reason == "max_tokens"
    assert answer.usage.output_tokens == 2


def test_a_stream_is_of_named_events_with_a_ping(upstream: UpstreamServer) -> None:
    reply = ask(upstream, text_of(script(tokens=1)) | {"stream": True})

    names = [line[7:] for line in reply.body.decode().split("\n") if line.startswith("event: ")]
    assert names == [
        *("message_start", "content_block_start", "ping", "content_block_delta"),
        *("content_block_stop", "message_delta", "message_stop"),
    ]
    assert reply.headers["request-id"].startswith("req_")


def test_an_error_inside_a_stream_is_an_event(client: anthropic.Anthropic) -> None:
    told = script(error_after=1, message="Overloaded")

    with (
        pytest.raises(anthropic.APIStatusError, match="Overloaded") as caught,
        client.messages.stream(**text_of(told)) as stream,
    ):
        stream.get_final_message()

    body: Any = caught.value.body
    assert body["error"]["type"] == "overloaded_error"


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, "authentication_error"),
        (403, "permission_error"),
        (404, "not_found_error"),
        (413, "request_too_large"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (529, "overloaded_error"),
    ],
)
def test_a_refusal_has_its_type_and_headers(
    upstream: UpstreamServer, status: int, kind: str
) -> None:
    reply = ask(upstream, text_of(script(fail=status, retry_after=7)))

    assert reply.status == status
    assert reply.json["error"]["type"] == kind
    assert reply.headers["request-id"] == reply.json["request_id"]
    assert reply.headers["retry-after"] == "7"


def test_faults_are_those_of_every_answer(upstream: UpstreamServer) -> None:
    broken = ask(upstream, text_of(script(tokens=5, reset_after=2)) | {"stream": True})
    cut = ask(upstream, text_of(script(tokens=5, truncate=1)) | {"stream": True})

    assert broken.was_reset
    assert b"tok1" in broken.body
    assert cut.complete
    assert b"message_delta" not in cut.body
