"""What the openai SDK makes of a model behind the gateway, whatever the dialect of its provider."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import openai
from pydantic import BaseModel

from tests.flows.asking import LOOK_UP
from tests.flows.caller import Caller
from tests.flows.site import CREDENTIAL, Site
from tests.support.servers import run_manage

TOOLS: Any = [LOOK_UP]


class Day(BaseModel):
    name: str
    celsius: int


class Forecast(BaseModel):
    place: str
    days: list[Day]


@contextmanager
def open_client(site: Site, caller: Caller) -> Iterator[openai.OpenAI]:
    base_url = site.gateway.base_url
    with openai.OpenAI(api_key=caller.secret, base_url=base_url, max_retries=0) as client:
        yield client


def assert_tools_are_looped(client: openai.OpenAI, model: str) -> None:
    """Assert that a model that thinks calls tools, and reads their results."""
    messages: list[Any] = [{"role": "user", "content": "script:tools=2&reasoning=1"}]
    asked: Any = {"model": model, "tools": TOOLS, "reasoning_effort": "high"}
    first = client.chat.completions.create(messages=messages, **asked)
    calls = first.choices[0].message.tool_calls or []
    messages.append(first.choices[0].message)
    for call in calls:
        messages.append({"role": "tool", "tool_call_id": call.id, "content": "Mild"})

    last = client.chat.completions.create(messages=messages, **asked)

    assert len(calls) == 2
    assert (last.choices[0].message.content or "").startswith("tok0 ")
    assert last.choices[0].finish_reason == "stop"


def assert_stream_is_joined(client: openai.OpenAI, model: str) -> None:
    """Assert that the SDK puts a stream of text and calls together."""
    asked: Any = [{"role": "user", "content": "script:tools=2&text=One+moment."}]
    with client.chat.completions.stream(model=model, messages=asked, tools=TOOLS) as stream:
        final = stream.get_final_completion()

    message = final.choices[0].message
    assert message.content == "One moment."
    arguments = [json.loads(call.function.arguments) for call in message.tool_calls or ()]
    assert arguments == [{"city": "Paris"}] * 2


def assert_schema_is_kept(client: openai.OpenAI, model: str) -> None:
    """Assert that an answer fits the type that the SDK asked for."""
    asked: Any = [{"role": "user", "content": "Well?"}]
    answer = client.chat.completions.parse(model=model, messages=asked, response_format=Forecast)

    assert isinstance(answer.choices[0].message.parsed, Forecast)


def assert_fallbacks_cross_dialects(caller: Caller, model: str, *, failure: str) -> None:
    """Assert that a model falls back to one of OpenAI's dialect, and the other way round.

    failure: of the model's own provider.
    """
    other = "fake-model"
    from_model = caller.ask(f"script:{failure}&fail_times=1&tokens=1", model=model, models=[other])
    to_model = caller.ask("script:fail=529&fail_times=1&tokens=1", model=other, models=[model])

    assert (from_model.status, to_model.status) == (200, 200)
    assert (from_model.json["model"], to_model.json["model"]) == (other, model)


def assert_provider_can_be_tested(site: Site, *, kind: str, path: str) -> None:
    """Assert that the test of a provider tells a right key from a wrong one.

    path: behind the part of the fake upstream that takes one key alone.
    """
    facts = {"kind": kind, "base_url": f"{site.upstream.origin}/keyed{path}"}
    name = kind.replace("_", "-")
    right_name, wrong_name = f"{name}-right", f"{name}-wrong"
    site.office.do("provider", name=right_name, credential="sk-right", **facts)
    site.office.do("provider", name=wrong_name, credential=CREDENTIAL, **facts)

    right = site.gateway.manage("test_provider", right_name)
    wrong = run_manage(site.gateway.home, "test_provider", wrong_name, "--json")

    assert right["outcome"] == "reachable"
    assert json.loads(wrong.stdout)["outcome"] == "key_refused"
