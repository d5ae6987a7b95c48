"""AutoGen's OpenAIChatCompletionClient."""

from __future__ import annotations

import base64
import io
import json
from importlib import metadata
from typing import Any

from autogen_core import Image
from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    UserMessage,
)
from autogen_core.tools import FunctionTool
from autogen_ext.models.openai import OpenAIChatCompletionClient
from PIL import Image as Pictures

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

ABLE = ("vision", "function_calling", "json_output", "structured_output")


def version() -> str:
    return metadata.version("autogen-ext")


def client() -> Any:
    return OpenAIChatCompletionClient(
        model=MODEL,
        api_key=KEY,
        base_url=base_url(),
        max_retries=0,
        model_info=dict.fromkeys(ABLE, True) | {"family": "unknown"},
    )


def asked(content: Any) -> list[Any]:
    return [UserMessage(content=content, source="user")]


def get_weather(city: str) -> str:
    """Look up the weather of a city."""
    return WEATHER


def read(seen: Seen, result: Any) -> Any:
    """Note a result; return it. Where no usage came the client says 0 and 0."""
    counts = [result.usage.prompt_tokens, result.usage.completion_tokens]
    seen.usage = counts if any(counts) else None
    seen.finish = result.finish_reason
    if isinstance(result.content, str):
        seen.text = result.content
    return result


async def create(messages: list[Any], **members: Any) -> Any:
    return await client().create(messages, **members)


async def stream(messages: list[Any], seen: Seen | None = None, **members: Any) -> Any:
    """Return the last item of a stream, the result. seen: notes the text as it comes."""
    item: Any = None
    async for item in client().create_stream(messages, **members):
        if seen and isinstance(item, str):
            seen.text += item
    return item


async def failure(seen: Seen) -> None:
    with seen.failure():
        await stream(asked(PROMPTS["broken"]), seen)


async def call_tools(seen: Seen, ask: Any) -> None:
    tool = FunctionTool(get_weather, description="Look up the weather of a city.")
    first = read(seen, await ask(asked(PROMPTS["tool"]), tools=[tool]))
    finish, [call] = seen.finish, first.content
    seen.calls = [[call.name, json.loads(call.arguments)]]
    told = FunctionExecutionResult(content=WEATHER, name=call.name, call_id=call.id, is_error=False)
    conversation = [
        *asked(PROMPTS["tool"]),
        AssistantMessage(content=first.content, source="assistant"),
        FunctionExecutionResultMessage(content=[told]),
    ]
    read(seen, await ask(conversation, tools=[tool]))
    seen.finish = finish


async def image(seen: Seen) -> None:
    data = base64.b64decode(PICTURE.partition(",")[2])
    picture = Image(Pictures.open(io.BytesIO(data)))
    read(seen, await create(asked([PROMPTS["echo"], picture])))


async def buffered(seen: Seen) -> None:
    read(seen, await create(asked(PROMPTS["plain"])))


async def streamed(seen: Seen, **members: Any) -> None:
    read(seen, await stream(asked(PROMPTS["plain"]), **members))


CELLS: Cells = {
    "buffered": buffered,
    "streamed": streamed,
    "usage asked": lambda seen: streamed(seen, include_usage=True),
    # Its own argument asks for the usage whatever it is.
    "usage declined": lambda seen: streamed(
        seen, extra_create_args={"stream_options": {"include_usage": False}}
    ),
    "failure": failure,
    "tools": lambda seen: call_tools(seen, create),
    "tools streamed": lambda seen: call_tools(seen, stream),
    "image": image,
}
