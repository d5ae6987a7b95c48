"""A call to /responses: a chat completion, and what only this format has."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from gateway.core.chat import ChatRequest
from gateway.core.json_types import JsonObject
from gateway.endpoints.responses.server_tools import place_of as place_server_tool

_MESSAGE = re.compile(r"^messages\[(?P<row>\d+)\](?P<content>\.content\[\d+\])?(?P<rest>.*)$")
_TOOL = re.compile(r"^tools\[(?P<row>\d+)\](?:\.(?:function|custom)(?=\.|$))?(?P<rest>.*)$")
# Members of a chat completion, and where they stand here.
_MEMBERS = (
    (re.compile(r"^messages$"), "input"),
    (re.compile(r"^tool_choice\.(?:function|custom)(?=\.|$)"), "tool_choice"),
    (re.compile(r"^response_format\.json_schema(?=\.|$)"), "text.format"),
    (re.compile(r"^response_format(?=\.|$)"), "text.format"),
    (re.compile(r"^max_(?:completion_)?tokens$"), "max_output_tokens"),
    (re.compile(r"^reasoning_effort$"), "reasoning.effort"),
    (re.compile(r"^verbosity$"), "text.verbosity"),
    (re.compile(r"^logprobs$"), "include"),
    (re.compile(r"^reasoning(?:_details)?$"), "input.reasoning"),
)


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What a response repeats of its request."""

    instructions: str | None = None
    max_output_tokens: int | None = None
    max_tool_calls: int | None = None
    metadata: dict[str, str]
    parallel_tool_calls: bool = True
    previous_response_id: str | None = None
    prompt_cache_key: str | None = None
    reasoning: JsonObject
    safety_identifier: str | None = None
    service_tier: str | None = None
    store: bool = True
    temperature: float | None = None
    text: JsonObject
    tool_choice: object = "auto"
    tools: list[JsonObject]
    top_logprobs: int | None = None
    top_p: float | None = None
    truncation: str = "disabled"
    user: str | None = None


class ResponsesPayload(ChatRequest, frozen=True, kw_only=True):
    """As gateway.core.chat.ChatRequest."""

    settings: Settings
    # Where each message stands in the request.
    places: tuple[str, ...]
    # The same of each tool that the caller runs.
    tool_places: tuple[str, ...] = ()

    def place_of(self, name: str) -> str:
        return rename(name, self.places, self.tool_places)


def rename(param: str, places: Sequence[str], tool_places: Sequence[str]) -> str:
    """Return where a member of a chat completion stands in the request that it was made from."""
    if (tool := _TOOL.match(param)) is not None:
        row = int(tool["row"])
        return tool_places[row] + tool["rest"] if row < len(tool_places) else "tools"
    found = _MESSAGE.match(param)
    if found is None:
        for pattern, here in _MEMBERS:
            param = pattern.sub(here, param)
        return place_server_tool(param)
    row = int(found["row"])
    if row >= len(places):
        return "input"
    place = places[row]
    if found["rest"] == ".tool_call_id":
        return f"{place.removesuffix('.output')}.call_id"
    # Only a message that is an item has its contents in the order in which they stand there.
    if not found["content"] or not place.endswith("]"):
        return place
    rest = found["rest"].replace(".image_url.url", ".image_url").replace(".file.", ".")
    return f"{place}{found['content']}{rest}"
