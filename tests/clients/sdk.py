"""Both clients of openai-python under one face, so that one test holds for either.

The sync client blocks the test's event loop, which does no harm: the server is another process.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import openai

from tests.support.waiting import async_wait_until

Message = dict[str, Any]


def user(content: str) -> list[Message]:
    """Return the messages of a conversation that begins with this."""
    return [{"role": "user", "content": content}]


async def outcome(value: Any) -> Any:
    """Return what a method of either client came to."""
    return await value if inspect.isawaitable(value) else value


async def each(items: Any) -> AsyncIterator[Any]:
    """Yield the items of a stream or page of either client."""
    if hasattr(items, "__aiter__"):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item


@asynccontextmanager
async def opened(manager: Any) -> AsyncIterator[Any]:
    """Enter a context manager of either client."""
    if hasattr(manager, "__aenter__"):
        async with manager as entered:
            yield entered
    else:
        with manager as entered:
            yield entered


async def ask(client: Any, content: str | list[Message], **members: Any) -> Any:
    """Make a buffered call; return the answer."""
    messages = user(content) if isinstance(content, str) else content
    members = {"model": "fake-model"} | members
    return await outcome(client.chat.completions.create(messages=messages, **members))


async def stream(client: Any, content: str | list[Message], **members: Any) -> list[Any]:
    """Make a streamed call; return every chunk."""
    return [chunk async for chunk in each(await ask(client, content, stream=True, **members))]


async def generation(client: Any, call_id: str) -> dict[str, Any]:
    """Return what the gateway has written down about a call, by any spelling of its id.
    Raises openai.NotFoundError."""
    wanted = {"params": {"id": call_id}}
    answer = await outcome(client.get("/generation", cast_to=object, options=wanted))
    data: dict[str, Any] = answer["data"]
    return data


async def generation_soon(
    client: Any, call_id: str, *, status: str | None = None
) -> dict[str, Any]:
    """Return generation once there is one, of a call that has ended or has this status. The
    gateway waits for its book for a moment, and a busy machine for longer."""

    async def find() -> dict[str, Any] | None:
        try:
            found = await generation(client, call_id)
        except openai.NotFoundError:
            return None
        is_wanted = found["status"] == status if status else found["status"] != "in_progress"
        return found if is_wanted else None

    found = await async_wait_until(find, what=f"the record of {call_id}")
    assert found is not None
    return found


def text_of(chunks: list[Any]) -> str:
    """Return the text of a stream, read by the loop that everybody writes: nothing guarded."""
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
