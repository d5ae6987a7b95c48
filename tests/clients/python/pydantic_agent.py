"""Pydantic AI's agent with its model for chat completions."""

from __future__ import annotations

import base64
from importlib import metadata
from typing import Any

import openai
from pydantic_ai import Agent, BinaryContent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from tests.clients.python.cells import (
    KEY,
    MODEL,
    PICTURE,
    PROMPTS,
    WEATHER,
    Cells,
    Seen,
    base_url,
)


def version() -> str:
    return metadata.version("pydantic-ai-slim")


def agent(**members: Any) -> Any:
    client = openai.AsyncOpenAI(api_key=KEY, base_url=base_url(), max_retries=0)
    model = OpenAIChatModel(MODEL, provider=OpenAIProvider(openai_client=client))
    return Agent(model, **members)


def read(seen: Seen, result: Any) -> None:
    """Note the end of a run."""
    usage = result.usage() if callable(result.usage) else result.usage
    seen.usage = [usage.input_tokens, usage.output_tokens]
    responses = [m for m in result.all_messages() if m.kind == "response"]
    seen.finish = responses[0].finish_reason
    for part in responses[0].parts:
        if part.part_kind == "tool-call":
            seen.calls.append([part.tool_name, part.args_as_dict()])


async def run(seen: Seen, asked: Any, **members: Any) -> None:
    result = await agent(**members).run(asked)
    seen.text = result.output
    read(seen, result)


async def stream(seen: Seen, asked: str, **members: Any) -> None:
    async with agent(**members).run_stream(asked) as result:
        async for said in result.stream_output(debounce_by=None):
            seen.text = said
    read(seen, result)


def get_weather(city: str) -> str:
    """Look up the weather of a city."""
    return WEATHER


async def failure(seen: Seen) -> None:
    with seen.failure():
        await stream(seen, PROMPTS["broken"])


async def image(seen: Seen) -> None:
    kind, _, data = PICTURE.removeprefix("data:").partition(";base64,")
    picture = BinaryContent(base64.b64decode(data), media_type=kind)
    await run(seen, [PROMPTS["echo"], picture])


CELLS: Cells = {
    "buffered": lambda seen: run(seen, PROMPTS["plain"]),
    "streamed": lambda seen: stream(seen, PROMPTS["plain"]),
    "usage asked": lambda seen: stream(seen, PROMPTS["plain"]),
    "failure": failure,
    "tools": lambda seen: run(seen, PROMPTS["tool"], tools=[get_weather]),
    "tools streamed": lambda seen: stream(seen, PROMPTS["tool"], tools=[get_weather]),
    "image": image,
}
