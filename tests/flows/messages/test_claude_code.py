"""Requests of the shape that Claude Code sends (2.1.197, taken down from the program): its headers,
its beta fields, its marks for the cache, its tools. The words are ours."""

from __future__ import annotations

import json
from typing import Any

import pytest
from anthropic.types.beta import BetaMessage

from tests.flows.messages.asking import Body, Messenger, message_of, text_of
from tests.flows.messages.conftest import CLAUDE, STRICT
from tests.flows.site import Site

PATH = "/v1/messages?beta=true"
MARK = {"type": "ephemeral"}
BETAS = (
    "claude-code-20250219,interleaved-thinking-2025-05-14,thinking-token-count-2026-05-13,"
    "context-management-2025-06-27,prompt-caching-scope-2026-01-05,"
    "mid-conversation-system-2026-04-07,effort-2025-11-24"
)
HEADERS = {
    "accept": "application/json",
    "user-agent": "claude-cli/2.1.197 (external, sdk-cli)",
    "x-claude-code-session-id": "89edd11c-13d7-47b3-a60a-443ae0d24355",
    "x-stainless-lang": "js",
    "x-stainless-retry-count": "0",
    "x-stainless-runtime": "node",
    "x-stainless-timeout": "600",
    "x-app": "cli",
    "anthropic-beta": BETAS,
    "anthropic-dangerous-direct-browser-access": "true",
    "accept-encoding": "gzip, deflate, br, zstd",
}
USER_ID = json.dumps({"device_id": "d" * 64, "account_uuid": "", "session_id": "e" * 36})


def tool(name: str, *required: str) -> Body:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {one: {"type": "string", "description": one} for one in required},
        "required": list(required),
        "additionalProperties": False,
    }
    return {"name": name, "description": f"Does {name}.\n\nUse it well.", "input_schema": schema}


def text(said: str, *, marked: bool = False) -> Body:
    return {"type": "text", "text": said} | ({"cache_control": MARK} if marked else {})


def body_of(*turns: Body, knows_model: bool) -> Body:
    """Return a request. knows_model: the name of the model is one that the program knows."""
    thinking: Body = {"type": "adaptive"}
    if knows_model:
        thinking = {"budget_tokens": 15_999, "type": "enabled"}
    body: Body = {
        "messages": list(turns),
        "system": [
            text("x-anthropic-billing-header: cc_version=2.1.197.541; cc_entrypoint=sdk-cli;"),
            text("You are an agent.", marked=True),
            text("\nYou help with software.\n" + "Be careful. " * 50, marked=True),
        ],
        "tools": [tool("Bash", "command", "description"), tool("mcp__files__read", "path")],
        "metadata": {"user_id": USER_ID},
        "max_tokens": 16_000,
        "thinking": thinking,
        "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
        "stream": True,
    }
    return body if knows_model else body | {"output_config": {"effort": "high"}}


def first_turns(prompt: str, *, knows_model: bool) -> list[Body]:
    reminder = text("<system-reminder>\nAs you answer, you may use this.\n</system-reminder>")
    turns: list[Body] = [
        {"role": "user", "content": [reminder, reminder]},
        {"role": "user", "content": [text(prompt, marked=True)]},
    ]
    if not knows_model:
        turns.append({"role": "system", "content": "The date has changed."})
    return turns


def after_a_tool(said: Body) -> list[Body]:
    used = next(block for block in said["content"] if block["type"] == "tool_use")
    result = {
        "tool_use_id": used["id"],
        "type": "tool_result",
        "content": "hi",
        "is_error": False,
        "cache_control": MARK,
    }
    return [
        {"role": "assistant", "content": said["content"]},
        {"role": "user", "content": [result]},
    ]


def ask(caller: Messenger, body: Body) -> Any:
    bearer = {"x-api-key": "", "authorization": f"Bearer {caller.secret}"}
    return caller.ask(path=PATH, headers=HEADERS | bearer, **body)


@pytest.mark.parametrize("model", [CLAUDE, "fake-model", STRICT])
def test_a_task_with_a_tool(messages_site: Site, model: str) -> None:
    caller = Messenger.of(messages_site.caller().with_(model=model))
    knows_model = model == CLAUDE
    turns = first_turns("script:tools=1&reasoning=2", knows_model=knows_model)

    answer = ask(caller, body_of(*turns, knows_model=knows_model))

    said = message_of(answer)
    BetaMessage.model_validate(said)
    assert said["stop_reason"] == "tool_use"
    assert said["content"][0]["type"] == "thinking"

    turns += after_a_tool(said)
    done = message_of(ask(caller, body_of(*turns, knows_model=knows_model)))
    assert done["stop_reason"] == "end_turn"
    assert text_of(done)


def test_the_apis_own_models_get_all_of_it(messages_site: Site) -> None:
    caller = Messenger.of(messages_site.caller().with_(model=CLAUDE))
    body = body_of(*first_turns("script:echo", knows_model=True), knows_model=True)

    answer = ask(caller, body)

    echoed = json.loads(text_of(message_of(answer)))
    arrived = json.loads(echoed["body_text"])
    assert arrived == body | {"model": arrived["model"]}
    assert dict(echoed["headers"])["anthropic-beta"] == BETAS
    assert "x-dropped-params" not in answer.headers


def test_other_models_get_what_they_know(messages_site: Site) -> None:
    caller = Messenger.of(messages_site.caller().with_(model=STRICT))
    answer = ask(caller, body_of(*first_turns("script:echo", knows_model=True), knows_model=True))

    arrived = json.loads(json.loads(text_of(message_of(answer)))["body_text"])
    assert set(arrived) == {
        *("model", "messages", "tools", "user", "max_completion_tokens", "reasoning_effort"),
        *("stream", "stream_options"),
    }
    dropped = answer.headers["x-dropped-params"].split(",")
    assert dropped == ["cache_control", "context_management", "thinking"]


def test_its_counts(messages_site: Site) -> None:
    caller = Messenger.of(messages_site.caller())
    body = {"messages": [{"role": "user", "content": "foo"}], "tools": [tool("Bash", "command")]}
    raw = json.dumps({"model": caller.model} | body).encode()
    answer = caller.ask(path="/v1/messages/count_tokens?beta=true", raw=raw, headers=HEADERS)

    assert answer.json["input_tokens"] > 10
