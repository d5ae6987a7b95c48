"""The openai SDK talks to Claude as to any model, and the catalogue knows the provider."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest

from tests.flows.anthropic.asking import LOOK_UP
from tests.flows.anthropic.conftest import ADAPTIVE, BUDGETED
from tests.flows.caller import Caller
from tests.flows.site import CREDENTIAL, Site
from tests.support.servers import run_manage


@pytest.fixture
def client(claude_site: Site, claude: Caller) -> Iterator[openai.OpenAI]:
    base_url = claude_site.gateway.base_url
    with openai.OpenAI(api_key=claude.secret, base_url=base_url, max_retries=0) as made:
        yield made


@pytest.mark.parametrize("model", [BUDGETED, ADAPTIVE])
def test_a_loop_of_tools_comes_to_its_end(client: openai.OpenAI, model: str) -> None:
    messages: list[Any] = [{"role": "user", "content": "script:tools=2&reasoning=1"}]
    tools: Any = [LOOK_UP]
    first = client.chat.completions.create(
        model=model, messages=messages, tools=tools, reasoning_effort="high"
    )
    calls = first.choices[0].message.tool_calls or []
    messages.append(first.choices[0].message)
    for call in calls:
        messages.append({"role": "tool", "tool_call_id": call.id, "content": "Mild"})

    last = client.chat.completions.create(
        model=model, messages=messages, tools=tools, reasoning_effort="high"
    )

    assert len(calls) == 2
    assert (last.choices[0].message.content or "").startswith("tok0 ")
    assert last.choices[0].finish_reason == "stop"


def test_the_sdk_puts_a_stream_of_calls_together(client: openai.OpenAI) -> None:
    tools: Any = [LOOK_UP]
    asked: Any = [{"role": "user", "content": "script:tools=2&text=One+moment."}]
    with client.chat.completions.stream(model=BUDGETED, messages=asked, tools=tools) as stream:
        final = stream.get_final_completion()

    message = final.choices[0].message
    assert message.content == "One moment."
    arguments = [json.loads(call.function.arguments) for call in message.tool_calls or ()]
    assert arguments == [{"city": "Paris"}] * 2


def test_the_sdk_gets_an_answer_that_fits_a_schema(client: openai.OpenAI) -> None:
    from pydantic import BaseModel

    class Day(BaseModel):
        name: str
        celsius: int

    class Forecast(BaseModel):
        place: str
        days: list[Day]

    asked: Any = [{"role": "user", "content": "Well?"}]
    answer = client.chat.completions.parse(model=BUDGETED, messages=asked, response_format=Forecast)

    assert isinstance(answer.choices[0].message.parsed, Forecast)


def test_a_refusal_is_the_sdks_own_error(client: openai.OpenAI) -> None:
    asked: Any = [{"role": "user", "content": "script:fail=429&retry_after=9"}]

    with pytest.raises(openai.RateLimitError) as caught:
        client.chat.completions.create(model=BUDGETED, messages=asked)

    assert caught.value.response.headers["retry-after"] == "9"


def test_a_fallback_may_be_of_another_dialect(claude_site: Site, claude: Caller) -> None:
    fields = {"model": BUDGETED, "models": ["fake-model"]}
    from_claude = claude.ask("script:fail=529&fail_times=1&tokens=1", **fields)
    fields = {"model": "fake-model", "models": [BUDGETED]}
    to_claude = claude.ask("script:fail=529&fail_times=1&tokens=1", **fields)

    assert (from_claude.status, to_claude.status) == (200, 200)
    assert from_claude.json["model"] == "fake-model"
    assert to_claude.json["model"] == BUDGETED


def test_the_provider_can_be_tested(claude_site: Site) -> None:
    origin = claude_site.upstream.origin
    for name, key, path in (
        ("right", "sk-right", "/keyed/anthropic/v1"),
        ("wrong", CREDENTIAL, "/keyed/anthropic/v1"),
    ):
        claude_site.office.do(
            "provider",
            name=f"claude-{name}",
            kind="anthropic",
            base_url=f"{origin}{path}",
            credential=key,
        )

    right = claude_site.gateway.manage("test_provider", "claude-right")
    wrong = run_manage(claude_site.gateway.home, "test_provider", "claude-wrong", "--json")

    assert right["outcome"] == "reachable"
    assert json.loads(wrong.stdout)["outcome"] == "key_refused"
