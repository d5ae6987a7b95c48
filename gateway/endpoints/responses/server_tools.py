"""The tools of a request that the gateway runs: those of `tools` that have one's name as their
type, and those of `plugins`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from gateway.core.call import rename_fields
from gateway.core.errors import RequestError
from gateway.core.json_types import JsonObject, JsonValue
from gateway.core.server_tools import WantedTool
from gateway.endpoints.plugins import name_of, read_wanted
from gateway.endpoints.responses.schema import ResponsesRequest
from gateway.tools.registry import ALIASES, TOOLS

WEB_SEARCH = "web_search"
# OpenAI's other names for it.
OPENAI_NAMES = dict.fromkeys(
    ("web_search_2025_08_26", "web_search_preview", "web_search_preview_2025_03_11"), WEB_SEARCH
)
TYPES = frozenset({*TOOLS, *ALIASES, *OPENAI_NAMES})
# How many pages a search returns, by OpenAI's word for it.
CONTEXT_SIZES = {"low": 3, "medium": 5, "high": 10}
# What they are named by among ourselves: tools[n] is the n-th that the model is told of.
SERVER_TOOLS = "server_tools"
_PLACE = re.compile(rf"^{SERVER_TOOLS}(\[\d+\])(.*)$")
# Of OpenAI's options those that only say where the caller is: the search services have no place
# for it.
LEFT_OUT = ("user_location",)


def is_idle(tool: Mapping[str, JsonValue]) -> bool:
    """True for a search of the web that may not reach it: Codex sends one with every request. It is
    left out, and named in x-dropped-params."""
    return tool.get("type") == WEB_SEARCH and tool.get("external_web_access") is False


def is_server_tool(tool: Mapping[str, JsonValue]) -> bool:
    kind = tool.get("type")
    return isinstance(kind, str) and kind in TYPES and not is_idle(tool)


def name_of_type(kind: str) -> str:
    """Return the plugin that a type of tools stands for."""
    return OPENAI_NAMES.get(kind) or name_of(kind)


def read_server_tools(request: ResponsesRequest) -> tuple[WantedTool, ...]:
    """Return the tools that the gateway is to run. Raises as gateway.endpoints.plugins."""
    try:
        placed = [*_of_tools(request.tools or ()), *_of_plugins(request.plugins or ())]
        found = read_wanted(placed, shows_events=bool(request.hi_tool_events), place="plugins")
    except RequestError as error:
        rename_fields(error, place_of)
        raise
    choice = request.tool_choice
    if not isinstance(choice, dict) or choice.get("type") != "allowed_tools":
        return found
    named = choice.get("tools")
    allowed = {
        name_of_type(one["type"])
        for one in (named if isinstance(named, list) else ())
        if isinstance(one, dict) and is_server_tool(one)
    }
    return tuple(
        one for one in found if one.id in allowed or not one.param.startswith(SERVER_TOOLS)
    )


def place_of(param: str) -> str:
    """Return where what is named as a server tool's stands in `tools`."""
    found = _PLACE.match(param)
    if found is None:
        return param
    return f"tools{found[1]}{'.type' if found[2] == '.id' else found[2]}"


def left_out(request: ResponsesRequest) -> tuple[str, ...]:
    """Return the options that no search gets."""
    tools = [tool for tool in request.tools or () if is_server_tool(tool)]
    return tuple(name for name in LEFT_OUT if any(tool.get(name) is not None for tool in tools))


def _of_plugins(given: Sequence[JsonObject]) -> Iterator[tuple[str, JsonObject]]:
    for index, member in enumerate(given):
        yield f"plugins[{index}]", member


def _of_tools(given: Sequence[JsonObject]) -> Iterator[tuple[str, JsonObject]]:
    """Yield the tools as plugins."""
    for index, tool in enumerate(given):
        if not is_server_tool(tool):
            continue
        param = f"{SERVER_TOOLS}[{index}]"
        name = name_of_type(tool["type"])
        members = {key: value for key, value in tool.items() if key != "type"}
        if name == WEB_SEARCH:
            members = _read_search(members, param)
        yield param, {**members, "id": name}


def _read_search(given: JsonObject, param: str) -> JsonObject:
    """Return OpenAI's options of a search as ours. Raises RequestError."""
    members = {key: value for key, value in given.items() if value is not None}
    for name in ("external_web_access", *LEFT_OUT):
        members.pop(name, None)
    if (size := members.pop("search_context_size", None)) is not None:
        if not isinstance(size, str) or size not in CONTEXT_SIZES:
            path = f"{param}.search_context_size"
            raise RequestError(f"{path} must be low, medium or high.", param=path)
        members.setdefault("max_results", CONTEXT_SIZES[size])
    return members
