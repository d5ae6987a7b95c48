"""OpenAI's Agents SDK in its default mode, which calls /responses."""

from __future__ import annotations

import os
from importlib import metadata
from typing import Any

import agents
import openai

from tests.clients.python.cells import KEY, MODEL, WEATHER, Cells, Seen, base_url

os.environ["OPENAI_AGENTS_DISABLE_TRACING"] = "1"


def version() -> str:
    return metadata.version("openai-agents")


def get_weather(city: str) -> str:
    """Look up the weather of a city."""
    return f"{WEATHER} in {city}"


def agent(**members: Any) -> Any:
    client = openai.AsyncOpenAI(api_key=KEY, base_url=base_url(), max_retries=0)
    agents.set_default_openai_client(client, use_for_tracing=False)
    return agents.Agent(name="Assistant", instructions="Be short.", model=MODEL, **members)


def read(seen: Seen, result: Any) -> None:
    """Note the end of a run."""
    seen.text = str(result.final_output)
    for item in result.new_items:
        if item.type == "tool_call_item":
            seen.calls.append([item.raw_item.name, item.raw_item.arguments])
    usage = result.context_wrapper.usage
    seen.usage = [usage.input_tokens, usage.output_tokens]


async def buffered(seen: Seen) -> None:
    read(seen, await agents.Runner.run(agent(), "script:tokens=5&reasoning=2"))


async def streamed(seen: Seen) -> None:
    result = agents.Runner.run_streamed(agent(), "script:tokens=5&reasoning=2")
    async for _ in result.stream_events():
        pass
    read(seen, result)


async def tools(seen: Seen) -> None:
    read(
        seen,
        await agents.Runner.run(
            agent(tools=[agents.function_tool(get_weather)]), "script:tools=2&text=Mild"
        ),
    )


async def tools_streamed(seen: Seen) -> None:
    asked = "script:tools=2&text=Mild"
    result = agents.Runner.run_streamed(agent(tools=[agents.function_tool(get_weather)]), asked)
    async for _ in result.stream_events():
        pass
    read(seen, result)


async def two_turns(seen: Seen) -> None:
    """A conversation that the SDK sends again, as it came."""
    first = await agents.Runner.run(agent(), "script:text=One&reasoning=2")
    given = [*first.to_input_list(), {"role": "user", "content": "script:text=Two"}]
    read(seen, await agents.Runner.run(agent(), given))


async def failure(seen: Seen) -> None:
    with seen.failure():
        result = agents.Runner.run_streamed(agent(), "script:tokens=9&reset_after=3")
        async for _ in result.stream_events():
            pass


CELLS: Cells = {
    "buffered": buffered,
    "streamed": streamed,
    "tools": tools,
    "tools streamed": tools_streamed,
    "two turns": two_turns,
    "failure": failure,
}
